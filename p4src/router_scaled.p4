// SPDX-License-Identifier: Apache-2.0
// router.p4 with the arithmetic that Tofino has for XCP, to compare what it grants with what router.p4 does.
#include <core.p4>
#include <v1model.p4>

#include "include/xcp_scaled.p4"
#include "router.p4"

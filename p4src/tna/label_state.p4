// SPDX-License-Identifier: Apache-2.0
// Stands for include/version.p4: an edge of optical packet switches has no schedule.
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "target.p4"
#include "../include/headers.p4"

struct versions_t { }

#endif

// SPDX-License-Identifier: Apache-2.0
// Stands for include/member_state.p4: what an edge knows of itself is in membership.p4 and session_state.p4.
#ifndef SLOTWISE_MEMBER_STATE_P4
#define SLOTWISE_MEMBER_STATE_P4
#include "target.p4"
#include "../include/headers.p4"

struct member_t { }

#endif

// SPDX-License-Identifier: Apache-2.0
// Stands for include/member_state.p4: nobody joins by invitation here.
#ifndef SLOTWISE_MEMBER_STATE_P4
#define SLOTWISE_MEMBER_STATE_P4
#include "target.p4"
#include "../include/headers.p4"

struct member_t { }

#endif

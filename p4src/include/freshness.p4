// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_FRESHNESS_P4
#define SLOTWISE_FRESHNESS_P4
#include "edge_parser.p4"

// First frame for which the last beacon heard is too old; 0 before the first one.
register<frame_t>(MAX_CORES) stale_frame;  // by core

// A slave may open data gates only while it hears the master; the master is its own beacon. What is stale is forgotten, or it
// would be ahead again when frame numbers have gone round. Of the star `meta.core`; `stale` is for the register's cell.
#define FRESHNESS(frame, stale, fresh) \
    fresh = meta.is_master; \
    stale_frame.read(stale, meta.core); \
    if (stale != 0) { \
        if (stale - (frame) - 1 <= meta.beacon_hold_frames + FRAME_LEAD) { \
            fresh = 1; \
        } else { \
            stale_frame.write(meta.core, 0); \
        } \
    }

#endif

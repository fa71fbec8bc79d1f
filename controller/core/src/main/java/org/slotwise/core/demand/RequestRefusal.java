// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.demand;

/** Why a packet from a switch is not taken as a request. */
public enum RequestRefusal {
    /** Shorter than its headers say. */
    TRUNCATED,
    /** Not an optical frame, or a version of it that is not known. */
    BAD_VERSION,
    /** An optical frame that is no request. */
    NOT_A_REQUEST,
    /** From an edge that this network does not have. */
    UNKNOWN_EDGE,
    /** From a device or port where that edge's requests do not come from. */
    UNEXPECTED_PORT,
    /** For a block of queues that this network does not have. */
    BAD_BLOCK,
    /** Not newer than the edge's last request for the same block. */
    STALE
}

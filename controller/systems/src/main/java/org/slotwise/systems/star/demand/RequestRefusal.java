// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

/** Why a packet from a switch is not taken as a request, or out of band as a beacon to hand on. */
public enum RequestRefusal {
    /** Shorter than its headers say. */
    TRUNCATED,
    /** Not as the switch made it, whatever kind of message it is. */
    BAD_CHECK,
    /** Not an optical frame, or a version of it that is not known. */
    BAD_VERSION,
    /** An optical frame that is no request. */
    NOT_A_REQUEST,
    /** From an edge that this network does not have, or a beacon for one. */
    UNKNOWN_EDGE,
    /** From a device or port where that edge's requests, or the master's beacons, do not come from. */
    UNEXPECTED_PORT,
    /** For a block of queues that this network does not have. */
    BAD_BLOCK,
    /** Announces a version that is not the one after that in force, or is of a frame too far ahead of the last one. */
    BAD_FIELD,
    /** Not newer than the edge's last request for the same block, or the last beacon for the same slave. */
    STALE
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

/** Why a message of an edge about its membership is not taken. */
public enum MemberRefusal {
    /** Shorter than its headers say. */
    TRUNCATED,
    /** From an edge that this network does not have, or that does not join by invitation. */
    UNKNOWN_EDGE,
    /** From a device or port where that edge's messages do not come from. */
    UNEXPECTED_PORT,
    /** Of a session that is not in force, or an answer to an invitation that is not out. */
    WRONG_SESSION,
    /** Not newer than the last one taken. */
    STALE,
    /** A field is out of range, or names another edge than the sender. */
    BAD_FIELD
}

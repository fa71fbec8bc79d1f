// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

/** Why a packet-in is no report that is taken. */
public enum ReportRefusal {
    /** It ends too soon. */
    TRUNCATED,
    /** It is not as the station made it. */
    BAD_CHECK,
    /** It did not come from the line card, or nobody wants reports in this mode. */
    UNEXPECTED_PORT,
    /** It says that it is of another station than the one that sent it. */
    NOT_A_MEMBER,
    /** A ringlet, phase or block that there is not. */
    BAD_FIELD,
    /** It is older than one that was taken, or the same. */
    STALE
}

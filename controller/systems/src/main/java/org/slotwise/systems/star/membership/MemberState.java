// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

/** How far an edge has come. */
public enum MemberState {
    /** It is not there, or was not, and is invited again later. */
    ABSENT,
    /** An invitation is out. */
    INVITED,
    /** It has answered, and is told how time is cut and what its T_d is. */
    CONFIGURING,
    /** It follows the master's clock and has its signaling slot. */
    JOINED
}

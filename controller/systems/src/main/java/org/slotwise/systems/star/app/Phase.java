// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

/** What the controller is at. */
public enum Phase {
    /** Not all switches are there. */
    WAITING_FOR_DEVICES,
    /** Rules that do not depend on the schedule are being written: core, then master, then slaves. */
    CONFIGURING,
    /** All is written; waits for requests that say which schedule is in force and that nothing is announced. */
    LEARNING,
    /** One schedule is in force everywhere; the other bank is free. */
    STEADY,
    /** The next schedule is being written to the other bank. */
    WRITING,
    /** The next schedule is with all switches; waits until all edges report it in force. */
    COMMITTING
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.OptionalLong;
import org.slotwise.control.topology.DeviceId;

/** What time is for a {@link ControlLoop}: this machine's, or a fabric's that stands still while the loop works. On the loop's thread. */
public interface Clock {
    /** Now, ns; never goes back. */
    long nowNs();

    /**
     * After each event: {@code wake} is to be called then, if nothing else happens before; empty for not at all. A clock that wakes
     * the loop itself ({@link ControlLoop#deadlineReached}) may leave it.
     */
    void wakeAt(OptionalLong deadlineNs, Runnable wake);

    /** Runs a task of the loop after so many ms, since a switch did not do what it was asked. */
    void retry(DeviceId device, long delayMs, Runnable task);
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.slotwise.control.topology.DeviceId;

/**
 * Ports that have lost their light, or have it again, since an application has found ways: it finds them once for all that happened at
 * one time, since both ends of a link tell.
 */
public final class LightChanges {
    private int causes;
    private String first = "";
    private long deadlineNs;

    /**
     * Takes what is said of a port; {@code dark} are the ports of its switch that have no light. What is known is nothing new: a switch that
     * is back tells all.
     */
    public void note(long nowNs, Set<Integer> dark, DeviceId device, int port, boolean isUp) {
        boolean isNews = isUp ? dark.remove(port) : dark.add(port);
        if (!isNews) {
            return;
        }
        if (causes == 0) {
            deadlineNs = nowNs;
            first = "device " + device + ", port " + port + (isUp ? " is up again" : " is down");
        }
        causes++;
    }

    /** Whether ways are to be found. */
    public boolean isPending() {
        return causes > 0;
    }

    /** When, if so: at once, after what has happened already. */
    public OptionalLong deadlineNs() {
        return causes > 0 ? OptionalLong.of(deadlineNs) : OptionalLong.empty();
    }

    /** What changed, in words, as ways are found now; empty if nothing. */
    public Optional<String> take() {
        Optional<String> cause = causes == 0 ? Optional.empty()
                : Optional.of(causes == 1 ? first : first + ", and " + (causes - 1) + " more");
        causes = 0;
        return cause;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import org.slotwise.control.topology.DeviceId;

/** Keeps a leader of former days from the switches: one that was stopped for a while does not know that another leads. */
public interface Fence {
    /** Tells what this leader orders from what others do: its term and its node. */
    long mandate();

    /**
     * Returns if this leader may write now. Waits for the cluster; throws {@link SupersededException}, or StorageException where
     * that cannot be found out.
     */
    void check();

    /** Whether nothing is known that would keep this leader from the switches; asks nobody. */
    boolean isOpen();

    /** Whether a packet for a switch has to be kept before it is sent. */
    boolean isToBeKept(byte[] frame);

    /** Keeps a packet that is about to be sent. Waits for the cluster and throws as {@link #check} does. */
    void keep(byte[] frame);

    /** A switch was read and has no entries at all. Waits for the cluster and throws as {@link #check} does. */
    void hasNoTables(DeviceId device);

    /** Another leads by now, or this one has ended. */
    final class SupersededException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason. */
        public SupersededException(String reason) {
            super(reason);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

/** Keeps a leader of former days from the switches: one that was stopped for a while does not know that another leads. */
public interface Fence {
    /**
     * Returns if this leader may write now. Waits for the cluster; throws {@link SupersededException}, or StorageException where
     * that cannot be found out.
     */
    void check();

    /** Whether nothing is known that would keep this leader from the switches; asks nobody. */
    boolean isOpen();

    /** Another leads by now, or this one has ended. */
    final class SupersededException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason. */
        public SupersededException(String reason) {
            super(reason);
        }
    }
}

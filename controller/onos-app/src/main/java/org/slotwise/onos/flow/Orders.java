// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

/** Asked by the driver of a switch at its master, whichever node that is: whether what was ordered may still be written. */
public interface Orders {
    /**
     * Returns if the leader of that mandate, on whichever node, is the one in force. Waits for the cluster; throws
     * {@link Fence.SupersededException}, or StorageException where that cannot be found out.
     */
    void check(long mandate);
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import org.slotwise.control.Event;

/**
 * Controller that runs systems. May be called from any thread; each method throws {@link org.slotwise.rest.ControllerService.UnavailableException} if
 * the controller does not answer.
 */
public interface SystemHost {
    /** Returns what a system shows now. */
    <V> V view(SystemPart<V> system);

    /** Returns whether it is one controller of a cluster, whose members share what is stored. */
    default boolean isCluster() {
        return false;
    }

    /** Gives a system an order that nobody stores. */
    void order(SystemPart<?> system, Event.Order order);

    /**
     * Stores, applies, notices and audits a change, as far as the host does such things. Throws
     * {@link org.slotwise.rest.ControllerService.NotKeptException} if it cannot be stored; it is not applied then.
     */
    <V> void change(SystemPart<V> system, Change<V> change);
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import org.slotwise.control.Event;

/**
 * An application that runs, as its resources reach it; may be called from any thread. Each method throws
 * {@link org.slotwise.rest.ControllerService.UnavailableException} if the controller does not answer.
 *
 * @param <V> what the application shows of itself
 */
public interface Running<V> {
    /** What it shows now. */
    V view();

    /** Returns whether the host takes choices of this kind at all, by the name of {@link Choice#what}. */
    default boolean takes(String what) {
        return true;
    }

    /** Gives it an order that nobody keeps. */
    void order(Event.Order order);

    /**
     * Gives it an order that is to hold over restarts, where the host keeps such things. Throws
     * {@link org.slotwise.rest.ControllerService.NotKeptException} if it cannot be kept; it is not given then.
     */
    void choose(Choice<V> choice);
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import org.slotwise.control.Event;

/** Whoever runs applications: what {@link Running} is of one of them, of any. */
public interface Host {
    /** What an application shows now. */
    <V> V view(Hosted<V> app);

    /** As {@link Running#takes}. */
    default boolean takes(Hosted<?> app, String what) {
        return true;
    }

    /** As {@link Running#order}. */
    void order(Hosted<?> app, Event.Order order);

    /** As {@link Running#choose}. */
    <V> void choose(Hosted<V> app, Choice<V> choice);
}

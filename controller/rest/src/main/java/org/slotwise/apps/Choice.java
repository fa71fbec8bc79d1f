// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;

/**
 * Something that people choose while an application runs.
 *
 * @param <V> what the application shows of itself
 */
public interface Choice<V> {
    /** What is chosen, in a word: a key in what is told, an event of the audit log. */
    String what();

    /** What is chosen, for a sentence such as "a capacity cannot be kept". */
    String title();

    /** What makes the application take it. */
    Event.Order order();

    /** What holds from now on. */
    ObjectNode told();

    /** What the audit log says of it, {@code before} being what held until now. */
    ObjectNode audited(V before);

    /** Keeps it over restarts. Throws IOException if that cannot be done, and changes nothing then. */
    void keep(AppState state) throws IOException;
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.Map;
import org.slotwise.control.Event;

/** Values that a system stores over restarts. */
interface StoredValues {
    /** Returns the orders that apply them, by key, of those texts by key that still hold. */
    Map<String, Event.Order> orders(Map<String, String> texts);
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.api;

import org.onosproject.event.EventListener;

/** Told of what happens in the controller, on the node that runs it. */
public interface SlotwiseListener extends EventListener<SlotwiseEvent> {
}

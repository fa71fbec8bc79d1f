// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import org.slotwise.control.SwitchState;
import org.slotwise.control.topology.DeviceId;

/** A switch of a star: which edge it is. */
final class DeviceState extends SwitchState {
    /** Of a core. */
    static final int NO_EDGE = -1;

    private final int edge;

    DeviceState(DeviceId id, int edge) {
        super(id);
        this.edge = edge;
    }

    /** Place of the edge in its network, or {@link #NO_EDGE}. */
    int edge() {
        return edge;
    }
}

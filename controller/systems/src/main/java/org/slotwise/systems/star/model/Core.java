// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.util.Objects;
import org.slotwise.control.topology.DeviceId;

/** Photonic core and the edge that is its master. */
public final class Core {
    private final CoreId id;
    private final EdgeId master;
    private final DeviceId device;

    /** Takes its number, its master, and its P4Runtime device. */
    public Core(CoreId id, EdgeId master, DeviceId device) {
        this.id = Objects.requireNonNull(id);
        this.master = Objects.requireNonNull(master);
        this.device = Objects.requireNonNull(device);
    }

    /** Number. */
    public CoreId id() {
        return id;
    }

    /** The edge that sits with the core. */
    public EdgeId master() {
        return master;
    }

    /** P4Runtime device. */
    public DeviceId device() {
        return device;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.Objects;

/** A switch of a network. */
public final class Node {
    private final DeviceId device;
    private final String name;
    private final String program;

    /** Takes the switch, its name, and the name of the P4 program that it runs, such as {@code edge}. */
    public Node(DeviceId device, String name, String program) {
        this.device = Objects.requireNonNull(device);
        this.name = Objects.requireNonNull(name);
        this.program = Objects.requireNonNull(program);
    }

    /** The switch. */
    public DeviceId device() {
        return device;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Name of its P4 program. */
    public String program() {
        return program;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Node && ((Node) o).device.equals(device) && ((Node) o).name.equals(name)
                && ((Node) o).program.equals(program);
    }

    @Override
    public int hashCode() {
        return device.hashCode();
    }

    @Override
    public String toString() {
        return name + " (device " + device + ", " + program + ")";
    }
}

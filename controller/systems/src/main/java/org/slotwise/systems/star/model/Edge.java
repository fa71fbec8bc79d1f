// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.MacAddress;

/** Edge switch: its device, address, hosts and fibres. */
public final class Edge {
    private final EdgeId id;
    private final DeviceId device;
    private final MacAddress mac;
    private final List<Host> hosts;
    private final List<Fibre> fibres;

    /** An edge of one star. */
    public Edge(EdgeId id, DeviceId device, MacAddress mac, List<Host> hosts, Fibre fibre) {
        this(id, device, mac, hosts, List.of(fibre));
    }

    /** Takes what the edge has; {@link Network} checks that it fits the rest. */
    public Edge(EdgeId id, DeviceId device, MacAddress mac, List<Host> hosts, List<Fibre> fibres) {
        this.id = Objects.requireNonNull(id);
        this.device = Objects.requireNonNull(device);
        this.mac = Objects.requireNonNull(mac);
        this.hosts = List.copyOf(hosts);
        this.fibres = List.copyOf(fibres);
    }

    /** Number. */
    public EdgeId id() {
        return id;
    }

    /** P4Runtime device. */
    public DeviceId device() {
        return device;
    }

    /** The edge's own Ethernet address, towards its hosts. */
    public MacAddress mac() {
        return mac;
    }

    /** Hosts in the order given. */
    public List<Host> hosts() {
        return hosts;
    }

    /** Fibres in the order given, one a core. */
    public List<Fibre> fibres() {
        return fibres;
    }

    /** The fibre to a core; empty if the edge is not in that core's star. */
    public Optional<Fibre> fibreTo(CoreId core) {
        return fibres.stream().filter(fibre -> fibre.core().equals(core)).findFirst();
    }

    /** The fibre to the core of a star; throws IllegalStateException if this edge, of a whole network, has several. */
    public Fibre fibre() {
        if (fibres.size() != 1) {
            throw new IllegalStateException("edge " + id + " has " + fibres.size() + " fibres; expected an edge of a single star");
        }
        return fibres.get(0);
    }

    /** Its port of the core to which it has a fibre; throws IllegalArgumentException if it has none. */
    public int corePort(CoreId core) {
        return fibreTo(core).orElseThrow(() -> new IllegalArgumentException("edge " + id + " has no fibre to core " + core))
                .corePort().orElse(id.value());
    }

    /** The same edge in the star of {@code core}, to which it has a fibre. */
    Edge in(CoreId core) {
        return new Edge(id, device, mac, hosts, fibreTo(core).orElseThrow());
    }
}

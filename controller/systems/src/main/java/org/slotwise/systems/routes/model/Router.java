// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.MacAddress;

/** A switch that runs {@code router.p4}. */
public final class Router {
    private final String name;
    private final DeviceId device;
    private final MacAddress mac;
    private final List<RouterPort> ports;
    private final Map<Integer, RouterPort> byNumber = new HashMap<>();

    /** Takes what it has; {@link RoutedNetwork} checks that it fits the rest. */
    public Router(String name, DeviceId device, MacAddress mac, List<RouterPort> ports) {
        this.name = Objects.requireNonNull(name);
        this.device = Objects.requireNonNull(device);
        this.mac = Objects.requireNonNull(mac);
        this.ports = List.copyOf(ports);
        this.ports.forEach(port -> byNumber.putIfAbsent(port.number(), port));
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Its P4Runtime device. */
    public DeviceId device() {
        return device;
    }

    /** Its own Ethernet address. */
    public MacAddress mac() {
        return mac;
    }

    /** Its ports. */
    public List<RouterPort> ports() {
        return ports;
    }

    /** The port with a number. */
    public Optional<RouterPort> port(int number) {
        return Optional.ofNullable(byNumber.get(number));
    }
}

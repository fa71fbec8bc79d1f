// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.function.Function;
import org.slotwise.control.Event;
import org.slotwise.control.PathApp;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.rest.json.Shape;
import org.slotwise.rest.json.View;

/** Ports of switches, as all systems read and show them. */
public final class Ports {
    /** A switch: {@code device_id}. */
    public static final Shape<DeviceId> DEVICE = Shape.integer("device_id", 1, DeviceId.MAX).as(DeviceId::of, DeviceId::value);

    /** Id of a switch, as it is shown. */
    public static final View<DeviceId> ID = View.integer(1).named("DeviceId").of(DeviceId::value);

    private Ports() {
    }

    /** Returns a port {@code low .. high} of a switch: {@code device_id}, {@code port}. */
    public static Shape<SwitchPort> at(int low, int high) {
        return DEVICE.and(Shape.integer("port", low, high), SwitchPort::new, SwitchPort::device, SwitchPort::port);
    }

    /** Returns, by port, whether links have light as far as anybody has told, and lets people tell it of switches that cannot themselves. */
    public static <V> SystemSetting<V, SwitchPort, Boolean> light(Shape<SwitchPort> shape, Collection<SwitchPort> ports,
            BiPredicate<V, SwitchPort> isDark) {
        return SystemSetting.<V, SwitchPort, Boolean>each("port", "the status of a port", shape, Shape.flag("up"), valued(ports, port -> true),
                view -> valued(ports, port -> !isDark.test(view, port)), 
                (port, up) -> Event.Call.of((PathApp<?, ?> app) -> app.reportPort(port, up))).unstored();
    }

    private static Map<SwitchPort, Boolean> valued(Collection<SwitchPort> ports, Function<SwitchPort, Boolean> value) {
        Map<SwitchPort, Boolean> values = new LinkedHashMap<>();
        ports.forEach(port -> values.put(port, value.apply(port)));
        return values;
    }
}

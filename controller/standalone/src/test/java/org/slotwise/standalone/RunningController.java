// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.Change;
import org.slotwise.rest.system.SystemHost;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.NetworkController;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.rest.StarPart;
import org.slotwise.systems.star.rest.StarParts;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.WireConstants;

/** A controller in the middle of its work, with switches that obey at once, behind the service of the resources. */
final class RunningController implements ControllerService, SystemHost {
    private final NetworkController controller;
    private final StarPart part;
    private final Map<DeviceId, Long> versions = new HashMap<>();
    private RuntimeException failure;

    /** Of one star. */
    RunningController() {
        this(Networks.star(4, 20));
    }

    /** Runs until a schedule for demand from edge 1 to edge 2, in each star, is in force. */
    RunningController(Network network) {
        part = StarParts.of(network, Networks.scheduler(Kinds.FAIR));
        controller = NetworkController.of(network, Networks.scheduler(Kinds.FAIR), () -> 0);
        network.devices().forEach(device -> deliver(new Event.DeviceReady(device, List.of())));
        for (int frame = 1; frame <= 8; frame++) {
            for (Network star : network.stars()) {
                long inForce = versions.getOrDefault(star.master().device(), 0L);
                for (Edge edge : star.edges()) {
                    request(star, edge, frame, inForce);
                }
            }
        }
    }

    private void request(Network star, Edge edge, int frame, long inForce) {
        RequestMessage message = new RequestMessage(edge.id().value()).frame(frame).versions(inForce, inForce);
        if (edge.id().value() == 1) {
            int queue = star.queue(star.edges().get(2));
            message.backlog(queue, 400_000).arrived(queue, 10_000L * frame);
        }
        boolean isMaster = edge == star.master();
        message.core(isMaster ? star.core().id().value() : 0);
        int port = isMaster ? WireConstants.PORT_LINECARD : star.master().fibre().port();
        deliver(new Event.PacketIn(star.master().device(), port, message.encode()));
    }

    private void deliver(Event event) {
        for (Command command : controller.onEvent(0, event)) {
            if (command instanceof Command.Write write) {
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else if (command instanceof Command.PacketOut packet) {
                versions.merge(packet.device(), 1L, Long::sum);
            }
        }
    }

    /** Makes every later call fail; null ends that. */
    void failWith(RuntimeException newFailure) {
        failure = newFailure;
    }

    @Override
    public List<SystemResources<?>> apps() {
        return List.of(new SystemResources<>(part, this));
    }

    synchronized Snapshot snapshot() {
        if (failure != null) {
            throw failure;
        }
        return controller.snapshot();
    }

    @Override
    @SuppressWarnings("unchecked")
    public <V> V view(SystemPart<V> system) {
        return (V) snapshot();
    }

    @Override
    public synchronized void order(SystemPart<?> system, Event.Order order) {
        deliver(order);
    }

    @Override
    public <V> void change(SystemPart<V> system, Change<V> change) {
        order(system, change.order());
    }
}

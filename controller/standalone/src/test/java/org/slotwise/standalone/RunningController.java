// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.util.List;
import org.slotwise.core.Command;
import org.slotwise.core.Controller;
import org.slotwise.core.Event;
import org.slotwise.core.Networks;
import org.slotwise.core.RequestMessage;
import org.slotwise.core.Snapshot;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.schedule.SchedulerKind;
import org.slotwise.core.wire.WireConstants;
import org.slotwise.rest.ControllerService;

/** A controller in the middle of its work, with switches that obey at once, behind the service of the resources. */
final class RunningController implements ControllerService {
    private final Network network = Networks.star(4, 20);
    private final Controller controller = new Controller(network, Networks.scheduler(SchedulerKind.FAIR), () -> 0);
    private RuntimeException failure;
    private long version;

    /** Runs until a schedule for demand from edge 1 to edge 2 is in force. */
    RunningController() {
        deliver(new Event.DeviceReady(network.core().device(), List.of()));
        network.edges().forEach(edge -> deliver(new Event.DeviceReady(edge.device(), List.of())));
        for (int frame = 1; frame <= 8; frame++) {
            long inForce = version;
            for (Edge edge : network.edges()) {
                request(edge, frame, inForce);
            }
        }
    }

    private void request(Edge edge, int frame, long inForce) {
        RequestMessage message = new RequestMessage(edge.id().value()).frame(frame).versions(inForce, inForce);
        if (edge.id().value() == 1) {
            message.backlog(2, 400_000).arrived(2, 10_000L * frame);
        }
        int port = edge == network.master() ? WireConstants.PORT_LINECARD : WireConstants.PORT_OPTICAL_BASE;
        deliver(new Event.PacketIn(DeviceId.of(1), port, message.encode()));
    }

    private void deliver(Event event) {
        for (Command command : controller.onEvent(0, event)) {
            if (command instanceof Command.Write write) {
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else if (command instanceof Command.PacketOut) {
                version++;
            }
        }
    }

    /** Makes every later call fail; null ends that. */
    void failWith(RuntimeException newFailure) {
        failure = newFailure;
    }

    @Override
    public synchronized Snapshot snapshot() {
        if (failure != null) {
            throw failure;
        }
        return controller.snapshot();
    }

    @Override
    public synchronized void choose(Event.SchedulerChosen choice) {
        deliver(choice);
    }
}

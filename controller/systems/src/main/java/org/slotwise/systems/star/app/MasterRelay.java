// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.demand.FrameWindow;
import org.slotwise.systems.star.demand.RequestReader;
import org.slotwise.systems.star.demand.RequestReader.Refused;
import org.slotwise.systems.star.demand.RequestRefusal;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

/**
 * Where signaling is out of band, hands on what the master says to a slave in each frame: its beacon, or, when it ends, that
 * it does. What is handed on is made anew from the fields, so nothing else passes.
 */
final class MasterRelay {
    private final Network network;
    /** By slave: which messages are new. */
    private final Map<Edge, FrameWindow> frames = new HashMap<>();

    MasterRelay(Network network) {
        this.network = network;
    }

    /**
     * Returns the packet-out for a beacon to its member.
     *
     * @param device where the packet-in came from
     * @param port its ingress port
     */
    Command.PacketOut handOn(DeviceId device, int port, Message.Beacon message) throws Refused {
        Edge slave = receiver(device, port, message);
        CommitHeader beacon = required(message.header());
        if (!Version.of(beacon.nextVersion()).follows(Version.of(beacon.activeVersion()))) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        checkFrame(slave, beacon.frame());
        return packetOut(OpticalKind.COMMIT, message, slave, beacon.encode());
    }

    /** Returns the packet-out for the master's shutdown to its member; parameters as of a beacon. */
    Command.PacketOut handOn(DeviceId device, int port, Message.Fault message) throws Refused {
        Edge slave = receiver(device, port, message);
        FaultHeader fault = required(message.header());
        if (fault.code() != FaultCode.SHUTDOWN.code() || fault.flags() != 0
                || fault.edge() != network.master().id().value()) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        checkFrame(slave, fault.frame());
        return packetOut(OpticalKind.FAULT, message, slave, fault.encode());
    }

    private Edge receiver(DeviceId device, int port, Message message) throws Refused {
        Edge master = network.master();
        if (!device.equals(master.device()) || port != WireConstants.PORT_LINECARD
                || message.optical().srcEdge() != master.id().value() || message.optical().core() != network.core().id().value()) {
            throw new Refused(RequestRefusal.UNEXPECTED_PORT);
        }
        return network.edges().stream()
                .filter(edge -> edge != master && edge.id().value() == message.optical().dstEdge())
                .findFirst().orElseThrow(() -> new Refused(RequestRefusal.UNKNOWN_EDGE));
    }

    private Command.PacketOut packetOut(OpticalKind kind, Message message, Edge slave, byte[] payload) {
        return new Command.PacketOut(slave.device(), WireConstants.PORT_SELF, ControlMessage.encode(kind, network.core().id().value(),
                message.optical().srcEdge(), slave.id().value(), slave.mac().value(), message.optical().sequence(), payload));
    }

    /** Forgets the master's frames, which may restart with it. */
    void reset() {
        frames.clear();
    }

    private void checkFrame(Edge slave, long frame) throws Refused {
        RequestReader.check(frames.computeIfAbsent(slave, edge -> new FrameWindow()).take(frame));
    }

    private static <T> T required(Optional<T> header) throws Refused {
        return header.orElseThrow(() -> new Refused(RequestRefusal.TRUNCATED));
    }
}

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
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.OpticalHeader;
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

    /** Whether a packet-in says that it is from the master to a slave, and such are to be handed on. */
    boolean isForSlave(byte[] frame) {
        return network.outOfBand() && OpticalHeader.decode(frame, EthernetHeader.SIZE)
                .filter(optical -> optical.kind() == OpticalKind.COMMIT.code()
                        || optical.kind() == OpticalKind.FAULT.code() && optical.srcEdge() == network.master().id().value())
                .isPresent();
    }

    /**
     * The packet-out for the slave.
     *
     * @param device where the packet-in came from
     * @param port its ingress port
     * @param frame bytes from Ethernet on, of which {@link #isForSlave} is true
     */
    Command.PacketOut handOn(DeviceId device, int port, byte[] frame) throws Refused {
        EthernetHeader ethernet = EthernetHeader.decode(frame, 0).orElseThrow();
        OpticalHeader optical = OpticalHeader.decode(frame, EthernetHeader.SIZE).orElseThrow();
        if (ethernet.etherType() != WireConstants.ETHERTYPE_OPTICAL
                || optical.version() != WireConstants.OPTICAL_VERSION) {
            throw new Refused(RequestRefusal.BAD_VERSION);
        }
        Edge master = network.master();
        if (!device.equals(master.device()) || port != WireConstants.PORT_LINECARD
                || optical.srcEdge() != master.id().value() || optical.core() != network.core().id().value()) {
            throw new Refused(RequestRefusal.UNEXPECTED_PORT);
        }
        Edge slave = network.edges().stream()
                .filter(edge -> edge != master && edge.id().value() == optical.dstEdge())
                .findFirst().orElseThrow(() -> new Refused(RequestRefusal.UNKNOWN_EDGE));
        byte[] payload = optical.kind() == OpticalKind.COMMIT.code() ? beacon(slave, frame) : shutdown(slave, frame);
        return new Command.PacketOut(slave.device(), WireConstants.PORT_SELF, ControlMessage.encode(
                OpticalKind.fromCode(optical.kind()).orElseThrow(), network.core().id().value(), optical.srcEdge(),
                slave.id().value(), slave.mac().value(), optical.sequence(), payload));
    }

    /** The master starts anew, and so may its frames. */
    void reset() {
        frames.clear();
    }

    private byte[] beacon(Edge slave, byte[] frame) throws Refused {
        CommitHeader beacon = required(CommitHeader.decode(frame, ControlMessage.PAYLOAD));
        if (!Version.of(beacon.nextVersion()).follows(Version.of(beacon.activeVersion()))) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        checkFrame(slave, beacon.frame());
        return beacon.encode();
    }

    private byte[] shutdown(Edge slave, byte[] frame) throws Refused {
        FaultHeader fault = required(FaultHeader.decode(frame, ControlMessage.PAYLOAD));
        if (fault.code() != FaultCode.SHUTDOWN.code() || fault.flags() != 0
                || fault.edge() != network.master().id().value()) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        checkFrame(slave, fault.frame());
        return fault.encode();
    }

    private void checkFrame(Edge slave, long frame) throws Refused {
        RequestReader.check(frames.computeIfAbsent(slave, edge -> new FrameWindow()).take(frame));
    }

    private static <T> T required(Optional<T> header) throws Refused {
        return header.orElseThrow(() -> new Refused(RequestRefusal.TRUNCATED));
    }
}

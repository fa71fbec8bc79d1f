// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.slotwise.core.demand.FrameWindow;
import org.slotwise.core.demand.RequestReader;
import org.slotwise.core.demand.RequestReader.Refused;
import org.slotwise.core.demand.RequestRefusal;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.network.Version;
import org.slotwise.core.wire.CommitHeader;
import org.slotwise.core.wire.EthernetHeader;
import org.slotwise.core.wire.OpticalHeader;
import org.slotwise.core.wire.OpticalKind;
import org.slotwise.core.wire.WireConstants;

/**
 * Where signaling is out of band, hands each beacon of the master on to the slave that it is for. What it hands on is made
 * anew from the fields, so nothing else passes.
 */
final class BeaconRelay {
    private static final int SIZE = EthernetHeader.SIZE + OpticalHeader.SIZE + CommitHeader.SIZE;

    private final Network network;
    /** By slave: which beacons are new. */
    private final Map<Edge, FrameWindow> frames = new HashMap<>();

    BeaconRelay(Network network) {
        this.network = network;
    }

    /** Whether a packet-in says that it is a beacon, and beacons are to be handed on. */
    boolean isBeacon(byte[] frame) {
        return network.outOfBand() && OpticalHeader.decode(frame, EthernetHeader.SIZE)
                .filter(optical -> optical.kind() == OpticalKind.COMMIT.code()).isPresent();
    }

    /**
     * The packet-out for the slave.
     *
     * @param device where the packet-in came from
     * @param port its ingress port
     * @param frame bytes from Ethernet on, of which {@link #isBeacon} is true
     */
    Command.PacketOut handOn(DeviceId device, int port, byte[] frame) throws Refused {
        if (frame.length < SIZE) {
            throw new Refused(RequestRefusal.TRUNCATED);
        }
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
        CommitHeader beacon = CommitHeader.decode(frame, EthernetHeader.SIZE + OpticalHeader.SIZE).orElseThrow();
        if (!Version.of(beacon.nextVersion()).follows(Version.of(beacon.activeVersion()))) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        RequestReader.check(frames.computeIfAbsent(slave, edge -> new FrameWindow()).take(beacon.frame()));
        return new Command.PacketOut(slave.device(), WireConstants.PORT_SELF, message(slave, optical, beacon));
    }

    /** The master starts anew, and so may its frames. */
    void reset() {
        frames.clear();
    }

    private byte[] message(Edge slave, OpticalHeader optical, CommitHeader beacon) {
        byte[] ethernet = new EthernetHeader(slave.mac().value(), 0, WireConstants.ETHERTYPE_OPTICAL).encode();
        // The core's number says of which star it is.
        byte[] header = new OpticalHeader(WireConstants.OPTICAL_VERSION, OpticalKind.COMMIT.code(), 0, optical.srcEdge(),
                slave.id().value(), WireConstants.SIGNALING_QUEUE, 0, network.core().id().value(), optical.sequence(), 0)
                .encode();
        return ByteBuffer.allocate(SIZE).put(ethernet).put(header).put(beacon.encode()).array();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import java.util.Optional;
import java.util.OptionalInt;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.RequestEntryHeader;
import org.slotwise.wire.RequestHeader;
import org.slotwise.wire.WireConstants;

/** Reads request messages from packet-ins; whatever bytes come, it gives a request or says why not. */
public final class RequestReader {
    private static final int SIZE = ControlMessage.PAYLOAD + RequestHeader.SIZE
            + WireConstants.REQUEST_ENTRIES * RequestEntryHeader.SIZE;

    private final Network network;

    /** Takes the network whose edges may ask. */
    public RequestReader(Network network) {
        this.network = network;
    }

    /** A packet that is no acceptable request. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        private final RequestRefusal reason;

        /** Takes the reason; there is no stack trace, since refusing is ordinary. */
        public Refused(RequestRefusal reason) {
            super(reason.name(), null, false, false);
            this.reason = reason;
        }

        /** Why. */
        public RequestRefusal reason() {
            return reason;
        }
    }

    /** The core whose star a message of an edge itself says it is about, if it has an optical header. */
    public static OptionalInt starOf(byte[] frame) {
        return OpticalHeader.decode(frame, EthernetHeader.SIZE).map(optical -> OptionalInt.of(optical.core()))
                .orElse(OptionalInt.empty());
    }

    /**
     * Reads a request.
     *
     * @param device where the packet-in came from
     * @param port its ingress port
     * @param frame bytes from Ethernet on
     */
    public Request read(DeviceId device, int port, byte[] frame) throws Refused {
        Optional<EthernetHeader> ethernet = EthernetHeader.decode(frame, 0);
        Optional<OpticalHeader> optical = OpticalHeader.decode(frame, EthernetHeader.SIZE);
        if (ethernet.isEmpty() || optical.isEmpty()) {
            throw new Refused(RequestRefusal.TRUNCATED);
        }
        if (ethernet.get().etherType() != WireConstants.ETHERTYPE_OPTICAL
                || optical.get().version() != WireConstants.OPTICAL_VERSION) {
            throw new Refused(RequestRefusal.BAD_VERSION);
        }
        if (optical.get().kind() != OpticalKind.REQUEST.code()) {
            throw new Refused(RequestRefusal.NOT_A_REQUEST);
        }
        if (frame.length < SIZE) {
            throw new Refused(RequestRefusal.TRUNCATED);
        }
        int edge = edgeIndex(optical.get().srcEdge());
        checkOrigin(network.edges().get(edge), optical.get().core(), device, port);
        RequestHeader header = RequestHeader.decode(frame, ControlMessage.PAYLOAD).orElseThrow();
        int block = header.block() - network.firstRequestBlock();
        if (block < 0 || block >= network.requestBlocks()) {
            throw new Refused(RequestRefusal.BAD_BLOCK);
        }
        if (!Version.of(header.nextVersion()).follows(Version.of(header.activeVersion()))) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        return withEntries(edge, block, header, frame);
    }

    /** Refuses a message whose frame is not the next one. */
    public static void check(FrameWindow.Verdict verdict) throws Refused {
        if (verdict == FrameWindow.Verdict.STALE) {
            throw new Refused(RequestRefusal.STALE);
        }
        if (verdict == FrameWindow.Verdict.TOO_FAR) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
    }

    private int edgeIndex(int id) throws Refused {
        if (id > EdgeId.MAX) {
            throw new Refused(RequestRefusal.UNKNOWN_EDGE);
        }
        return network.indexOf(EdgeId.of(id)).orElseThrow(() -> new Refused(RequestRefusal.UNKNOWN_EDGE));
    }

    private void checkOrigin(Edge edge, int core, DeviceId device, int port) throws Refused {
        if (network.outOfBand()) {
            if (!device.equals(edge.device()) || port != WireConstants.PORT_LINECARD
                    || core != network.core().id().value()) {
                throw new Refused(RequestRefusal.UNEXPECTED_PORT);
            }
            return;
        }
        Edge master = network.master();
        int expected = edge == master ? WireConstants.PORT_LINECARD : master.fibre().port();
        if (!device.equals(master.device()) || port != expected) {
            throw new Refused(RequestRefusal.UNEXPECTED_PORT);
        }
    }

    private static Request withEntries(int edge, int block, RequestHeader header, byte[] frame) {
        long[] backlog = new long[WireConstants.REQUEST_ENTRIES];
        long[] arrived = new long[WireConstants.REQUEST_ENTRIES];
        int offset = ControlMessage.PAYLOAD + RequestHeader.SIZE;
        for (int entry = 0; entry < WireConstants.REQUEST_ENTRIES; entry++) {
            RequestEntryHeader queue =
                    RequestEntryHeader.decode(frame, offset + entry * RequestEntryHeader.SIZE).orElseThrow();
            backlog[entry] = queue.backlogBytes();
            arrived[entry] = queue.arrivedBytes();
        }
        return new Request(edge, header.frame(), Version.of(header.activeVersion()),
                Version.of(header.nextVersion()), block, (header.flags() & WireConstants.REQUEST_NO_LIGHT) == 0,
                backlog, arrived);
    }
}

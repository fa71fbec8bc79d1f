// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.RequestEntryHeader;
import org.slotwise.wire.RequestHeader;
import org.slotwise.wire.WireConstants;

/** Reads requests that fit the network from messages; returns a request for each, or throws the reason. */
public final class RequestReader {
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

    /**
     * Reads a request.
     *
     * @param device where the packet-in came from
     * @param port its ingress port
     */
    public Request read(DeviceId device, int port, Message message) throws Refused {
        if (message instanceof Message.Request) {
            return read(device, port, (Message.Request) message);
        }
        throw new Refused(message instanceof Message.Other ? refusal(((Message.Other) message).defect()) : RequestRefusal.NOT_A_REQUEST);
    }

    private Request read(DeviceId device, int port, Message.Request message) throws Refused {
        int edge = edgeIndex(message.optical().srcEdge());
        checkOrigin(network.edges().get(edge), message.optical().core(), device, port);
        RequestHeader header = message.header();
        int block = header.block() - network.firstRequestBlock();
        if (block < 0 || block >= network.requestBlocks()) {
            throw new Refused(RequestRefusal.BAD_BLOCK);
        }
        if (!Version.of(header.nextVersion()).follows(Version.of(header.activeVersion()))) {
            throw new Refused(RequestRefusal.BAD_FIELD);
        }
        return withEntries(edge, block, message);
    }

    private static RequestRefusal refusal(Message.Defect defect) {
        switch (defect) {
            case TRUNCATED:
                return RequestRefusal.TRUNCATED;
            case BAD_CHECK:
                return RequestRefusal.BAD_CHECK;
            case BAD_VERSION:
                return RequestRefusal.BAD_VERSION;
            default:
                return RequestRefusal.NOT_A_REQUEST;
        }
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

    private static Request withEntries(int edge, int block, Message.Request message) {
        RequestHeader header = message.header();
        long[] backlog = new long[WireConstants.REQUEST_ENTRIES];
        long[] arrived = new long[WireConstants.REQUEST_ENTRIES];
        for (int entry = 0; entry < WireConstants.REQUEST_ENTRIES; entry++) {
            RequestEntryHeader queue = message.entry(entry);
            backlog[entry] = queue.backlogBytes();
            arrived[entry] = queue.arrivedBytes();
        }
        return new Request(edge, header.frame(), Version.of(header.activeVersion()),
                Version.of(header.nextVersion()), block, (header.flags() & WireConstants.REQUEST_NO_LIGHT) == 0,
                backlog, arrived);
    }
}

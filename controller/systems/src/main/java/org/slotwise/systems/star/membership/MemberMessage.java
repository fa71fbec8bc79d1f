// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import java.util.Optional;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.InvitationHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

/** A message of an edge about its membership, every field within its range. Immutable. */
final class MemberMessage {
    private static final int FAULT_IS_OVER = 1;

    private final int edge;
    private final long session;
    private final long sequence;
    private final long frame;
    private final long sentNs;
    private final long measuredNs;
    private final long usedNs;
    private final FaultCode fault;
    private final boolean over;

    private MemberMessage(int edge, OpticalHeader optical, long session, long frame, long sentNs,
            long measuredNs, long usedNs, FaultCode fault, boolean over) {
        this.edge = edge;
        this.session = session;
        this.sequence = optical.sequence();
        this.frame = frame;
        this.sentNs = sentNs;
        this.measuredNs = measuredNs;
        this.usedNs = usedNs;
        this.fault = fault;
        this.over = over;
    }

    /** A packet that is no acceptable message; refusing is ordinary, so there is no stack trace. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        private final MemberRefusal reason;

        Refused(MemberRefusal reason) {
            super(reason.name(), null, false, false);
            this.reason = reason;
        }

        MemberRefusal reason() {
            return reason;
        }
    }

    /** Edge that a message is of, after checks of where it came from. */
    private static final class Sender {
        private final int index;
        private final Edge edge;

        /** In-band messages come by the master, faults also from the edge itself. */
        Sender(Network network, DeviceId device, int port, Message message) throws Refused {
            OpticalHeader optical = message.optical();
            this.index = edgeIndex(network, optical.srcEdge());
            this.edge = network.edges().get(index);
            boolean inBand = device.equals(network.master().device()) && port == network.master().fibre().port();
            boolean outOfBand = device.equals(edge.device()) && port == WireConstants.PORT_LINECARD
                    && message instanceof Message.Fault && optical.core() == network.core().id().value();
            if (!inBand && !outOfBand) {
                throw new Refused(MemberRefusal.UNEXPECTED_PORT);
            }
        }
    }

    /** Checks an answer to an invitation. */
    static MemberMessage of(Network network, DeviceId device, int port, Message.Answer message) throws Refused {
        Sender sender = new Sender(network, device, port, message);
        StampHeader stamp = required(message.stamp());
        long measuredNs = measuredNs(network, stamp);
        InvitationHeader answer = required(message.header());
        if (answer.flags() != WireConstants.INVITATION_ANSWER || answer.mac() != sender.edge.mac().value()) {
            throw new Refused(MemberRefusal.BAD_FIELD);
        }
        return new MemberMessage(sender.index, message.optical(), answer.nonce(), 0, stamp.sentNs(), measuredNs, 0, null, false);
    }

    /** Checks a measurement of T_d. */
    static MemberMessage of(Network network, DeviceId device, int port, Message.Sync message) throws Refused {
        Sender sender = new Sender(network, device, port, message);
        StampHeader stamp = required(message.stamp());
        long measuredNs = measuredNs(network, stamp);
        SyncHeader sync = required(message.header());
        checkPhase(sync.phaseNs());
        return new MemberMessage(sender.index, message.optical(), sync.session(), sync.frame(), stamp.sentNs(), measuredNs, sync.phaseNs(), null, false);
    }

    /** Checks a fault. */
    static MemberMessage of(Network network, DeviceId device, int port, Message.Fault message) throws Refused {
        Sender sender = new Sender(network, device, port, message);
        FaultHeader fault = required(message.header());
        FaultCode code = FaultCode.fromCode(fault.code()).filter(known -> known != FaultCode.SHUTDOWN && fault.edge() == sender.edge.id().value())
                .orElseThrow(() -> new Refused(MemberRefusal.BAD_FIELD));
        return new MemberMessage(sender.index, message.optical(), fault.session(), fault.frame(), 0, 0, 0, code,
                (fault.flags() & FAULT_IS_OVER) != 0);
    }

    /** Modulo 2^64, so that either clock may be ahead (equation 3.3 of the AAPN thesis). */
    private static long measuredNs(Network network, StampHeader stamp) throws Refused {
        long measuredNs = stamp.receivedNs() - stamp.sentNs() - network.master().fibre().delayNs();
        checkPhase(measuredNs);
        return measuredNs;
    }

    private static int edgeIndex(Network network, int id) throws Refused {
        if (id > EdgeId.MAX || id == network.master().id().value()) {
            throw new Refused(MemberRefusal.UNKNOWN_EDGE);
        }
        return network.indexOf(EdgeId.of(id)).orElseThrow(() -> new Refused(MemberRefusal.UNKNOWN_EDGE));
    }

    private static <T> T required(Optional<T> header) throws Refused {
        return header.orElseThrow(() -> new Refused(MemberRefusal.TRUNCATED));
    }

    private static void checkPhase(long phaseNs) throws Refused {
        if (phaseNs < -WireConstants.MAX_PHASE_NS || phaseNs > WireConstants.MAX_PHASE_NS) {
            throw new Refused(MemberRefusal.BAD_FIELD);
        }
    }

    /** Place of the edge in the network. */
    int edge() {
        return edge;
    }

    /** Nonce or session. */
    long session() {
        return session;
    }

    /** Number of the message among all that its edge signals. */
    long sequence() {
        return sequence;
    }

    /** The edge's frame; 0 in an answer. */
    long frame() {
        return frame;
    }

    /** When it left, by the edge's clock; not in a fault. */
    long sentNs() {
        return sentNs;
    }

    /** T_d as this message measures it; not in a fault. */
    long measuredNs() {
        return measuredNs;
    }

    /** T_d that the edge uses; in SYNC only. */
    long usedNs() {
        return usedNs;
    }

    /** What is wrong; in a fault only. */
    FaultCode fault() {
        return fault;
    }

    /** Whether the fault is over. */
    boolean isOver() {
        return over;
    }
}

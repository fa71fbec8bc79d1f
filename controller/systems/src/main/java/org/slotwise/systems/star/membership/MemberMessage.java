// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import java.util.Optional;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.InvitationHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

/** A message of an edge about its membership, every field within its range. Immutable. */
final class MemberMessage {
    private static final int FAULT_IS_OVER = 1;

    private final int edge;
    private final OpticalKind kind;
    private final long session;
    private final long sequence;
    private final long frame;
    private final long sentNs;
    private final long measuredNs;
    private final long usedNs;
    private final FaultCode fault;
    private final boolean over;

    private MemberMessage(int edge, OpticalHeader optical, OpticalKind kind, long session, long frame, long sentNs,
            long measuredNs, long usedNs, FaultCode fault, boolean over) {
        this.edge = edge;
        this.kind = kind;
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

    /** Whether a packet is one of these messages as far as its optical header says. */
    static boolean isOne(byte[] frame) {
        return EthernetHeader.decode(frame, 0)
                .filter(ethernet -> ethernet.etherType() == WireConstants.ETHERTYPE_OPTICAL)
                .flatMap(ethernet -> OpticalHeader.decode(frame, EthernetHeader.SIZE))
                .filter(optical -> optical.version() == WireConstants.OPTICAL_VERSION)
                .map(optical -> optical.kind() == OpticalKind.INVITATION.code()
                        || optical.kind() == OpticalKind.SYNC.code() || optical.kind() == OpticalKind.FAULT.code())
                .orElse(false);
    }

    /** Reads a packet for which {@link #isOne} holds. In-band messages come by the master, others from the edge. */
    static MemberMessage read(Network network, DeviceId device, int port, byte[] frame) throws Refused {
        OpticalHeader optical = OpticalHeader.decode(frame, EthernetHeader.SIZE).orElseThrow();
        int index = edgeIndex(network, optical.srcEdge());
        Edge edge = network.edges().get(index);
        boolean inBand = device.equals(network.master().device()) && port == network.master().fibre().port();
        boolean outOfBand = device.equals(edge.device()) && port == WireConstants.PORT_LINECARD
                && optical.kind() == OpticalKind.FAULT.code() && optical.core() == network.core().id().value();
        if (!inBand && !outOfBand) {
            throw new Refused(MemberRefusal.UNEXPECTED_PORT);
        }
        if (optical.kind() == OpticalKind.FAULT.code()) {
            return fault(index, edge, optical, required(FaultHeader.decode(frame, ControlMessage.PAYLOAD)));
        }
        StampHeader stamp = required(StampHeader.decode(frame, ControlMessage.PAYLOAD));
        // Modulo 2^64, so that either clock may be ahead (equation 3.3 of the AAPN thesis).
        long measuredNs = stamp.receivedNs() - stamp.sentNs() - network.master().fibre().delayNs();
        checkPhase(measuredNs);
        if (optical.kind() == OpticalKind.INVITATION.code()) {
            InvitationHeader answer = required(InvitationHeader.decode(frame, ControlMessage.PAYLOAD + StampHeader.SIZE));
            if (answer.flags() != WireConstants.INVITATION_ANSWER || answer.mac() != edge.mac().value()) {
                throw new Refused(MemberRefusal.BAD_FIELD);
            }
            return new MemberMessage(index, optical, OpticalKind.INVITATION, answer.nonce(), 0, stamp.sentNs(), measuredNs, 0, null,
                    false);
        }
        SyncHeader sync = required(SyncHeader.decode(frame, ControlMessage.PAYLOAD + StampHeader.SIZE));
        checkPhase(sync.phaseNs());
        return new MemberMessage(index, optical, OpticalKind.SYNC, sync.session(), sync.frame(), stamp.sentNs(),
                measuredNs, sync.phaseNs(), null, false);
    }

    private static MemberMessage fault(int index, Edge edge, OpticalHeader optical, FaultHeader fault)
            throws Refused {
        FaultCode code = null;
        for (FaultCode known : FaultCode.values()) {
            code = known.code() == fault.code() ? known : code;
        }
        if (code == null || code == FaultCode.SHUTDOWN || fault.edge() != edge.id().value()) {
            throw new Refused(MemberRefusal.BAD_FIELD);
        }
        return new MemberMessage(index, optical, OpticalKind.FAULT, fault.session(), fault.frame(), 0, 0, 0, code,
                (fault.flags() & FAULT_IS_OVER) != 0);
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

    /** INVITATION (an answer), SYNC or FAULT. */
    OpticalKind kind() {
        return kind;
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

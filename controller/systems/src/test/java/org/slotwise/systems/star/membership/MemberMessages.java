// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.InvitationHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

/** What an edge says about its membership, as the controller gets it. */
public final class MemberMessages {
    /** When the light of all messages left, by the edge's clock. */
    public static final long SENT_NS = 500;

    private final Network network;
    private long sequence;

    /** Takes the network of the edges that speak. */
    public MemberMessages(Network network) {
        this.network = network;
    }

    /** Any message, numbered after the one before. What an edge itself says names its star; light does not. */
    byte[] message(OpticalKind kind, int edge, byte[]... headers) {
        int core = kind == OpticalKind.FAULT ? network.core().id().value() : 0;
        return ControlMessage.seal(new EthernetHeader(0, 0, WireConstants.ETHERTYPE_OPTICAL),
                new OpticalHeader(WireConstants.OPTICAL_VERSION, kind.code(), 0, edge, 0,
                        WireConstants.SIGNALING_QUEUE, 0, core, ++sequence, 0), headers);
    }

    /** The answer to an invitation, by which T_d is {@code measuredNs}. */
    public byte[] answer(int edge, long nonce, long measuredNs) {
        return message(OpticalKind.INVITATION, edge, stamp(measuredNs), new InvitationHeader(nonce,
                network.edges().get(edge).mac().value(), WireConstants.INVITATION_ANSWER, 0).encode());
    }

    /** Light by which T_d is {@code measuredNs}, of an edge that uses {@code usedNs}. */
    public byte[] sync(int edge, long session, long frame, long measuredNs, long usedNs) {
        return message(OpticalKind.SYNC, edge, stamp(measuredNs), new SyncHeader(session, frame, 0, usedNs).encode());
    }

    /** A fault that {@code sender} says {@code edge} has. */
    byte[] fault(int sender, long session, int edge, int code, int flags) {
        return message(OpticalKind.FAULT, sender, new FaultHeader(session, 0, code, flags, edge).encode());
    }

    /** Has a message about membership received. */
    static void deliver(Membership membership, long nowNs, DeviceId device, int port, byte[] frame) {
        Message.read(frame).accept(new Message.Visitor<Void, RuntimeException>() {
            @Override
            public Void request(Message.Request message) {
                throw new AssertionError("a request");
            }

            @Override
            public Void beacon(Message.Beacon message) {
                throw new AssertionError("a beacon");
            }

            @Override
            public Void answer(Message.Answer message) {
                membership.onAnswer(device, port, message);
                return null;
            }

            @Override
            public Void sync(Message.Sync message) {
                membership.onSync(nowNs, device, port, message);
                return null;
            }

            @Override
            public Void fault(Message.Fault message) {
                membership.onFault(nowNs, device, port, message);
                return null;
            }

            @Override
            public Void other(Message.Other message) {
                throw new AssertionError(message.defect().name());
            }
        });
    }

    private byte[] stamp(long measuredNs) {
        long ownNs = network.master().fibre().delayNs();
        return new StampHeader(SENT_NS, SENT_NS + ownNs + measuredNs).encode();
    }
}

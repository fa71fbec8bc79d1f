// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.ConfigurationHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

/** Out of band the controller tells edges what in-band the master does. */
class OutOfBandMembershipTest {
    private static final int EDGE = 1;
    private static final int PAYLOAD = ControlMessage.PAYLOAD;
    private static final long NONCE = 101;
    private static final long PHASE_NS = -70_000;

    private final Network network = Networks.byInvitation(Networks.outOfBand(Networks.star(3, 8)));
    private final Membership membership = new Membership(network);
    private final MemberMessages messages = new MemberMessages(network);
    private final SwitchRules rules = new SwitchRules(network);

    OutOfBandMembershipTest() {
        membership.masterAt(1, NONCE - 1);
        membership.onTime(1);
    }

    private void receive(byte[] frame) {
        MemberMessages.deliver(membership, 1, network.master().device(), WireConstants.PORT_OPTICAL_BASE, frame);
    }

    private byte[] onlyNotice(OpticalKind kind) {
        List<MemberNotice> notices = membership.takeNotices();
        assertEquals(1, notices.size());
        assertEquals(network.edges().get(EDGE), notices.get(0).edge());
        byte[] frame = notices.get(0).frame();
        EthernetHeader ethernet = EthernetHeader.decode(frame, 0).orElseThrow();
        assertEquals(WireConstants.ETHERTYPE_OPTICAL, ethernet.etherType());
        assertEquals(network.edges().get(EDGE).mac().value(), ethernet.dst());
        OpticalHeader optical = OpticalHeader.decode(frame, EthernetHeader.SIZE).orElseThrow();
        assertEquals(List.of(WireConstants.OPTICAL_VERSION, kind.code(), 0, EDGE, 0),
                List.of(optical.version(), optical.kind(), optical.srcEdge(), optical.dstEdge(), optical.core()));
        return frame;
    }

    private String orders() {
        return rules.memberRules(membership.orders()).toString();
    }

    private void join() {
        receive(messages.answer(EDGE, NONCE, PHASE_NS));
        receive(messages.sync(EDGE, NONCE, 109, PHASE_NS, PHASE_NS));
        receive(messages.sync(EDGE, NONCE, 110, PHASE_NS, PHASE_NS));
        membership.takeNotices();
    }

    @Test
    void invitationIsLight() {
        assertTrue(orders().contains("[core=0, repeat=1, slot=1] -> send_invitation{"), orders());
        assertEquals(List.of(), membership.takeNotices());
    }

    @Test
    void configurationIsRepeatedWithEachFrameUntilTheEdgeIsHeard() {
        receive(messages.answer(EDGE, NONCE, PHASE_NS));
        ConfigurationHeader told = ConfigurationHeader.decode(onlyNotice(OpticalKind.CONFIGURATION), PAYLOAD).orElseThrow();
        // One frame more than in-band: the beacon hold, in which the way by the controller is.
        assertEquals(new ConfigurationHeader(NONCE, Networks.SLOT_NS, 10_000, 8, 9, PHASE_NS), told);
        assertTrue(orders().contains("accept_session{session=101}"), orders());
        assertFalse(orders().contains("send_configuration"), orders());
        membership.masterAt(2, NONCE - 1);
        assertEquals(List.of(), membership.takeNotices(), "once a frame");
        membership.masterAt(2, NONCE);
        onlyNotice(OpticalKind.CONFIGURATION);
        receive(messages.sync(EDGE, NONCE, 110, PHASE_NS, PHASE_NS));
        onlyNotice(OpticalKind.SYNC);
        membership.masterAt(3, NONCE + 1);
        assertEquals(List.of(), membership.takeNotices());
    }

    @Test
    void measurementIsToldAsTheMasterWouldTellIt() {
        join();
        receive(messages.sync(EDGE, NONCE, 111, PHASE_NS - 20, PHASE_NS));
        byte[] frame = onlyNotice(OpticalKind.SYNC);
        assertEquals(MemberMessages.SENT_NS, StampHeader.decode(frame, PAYLOAD).orElseThrow().receivedNs());
        assertEquals(new SyncHeader(NONCE, 111, MemberMessages.SENT_NS, PHASE_NS - 20),
                SyncHeader.decode(frame, PAYLOAD + StampHeader.SIZE).orElseThrow());
        assertEquals(-20, membership.members().get(0).errorNs());
    }

    @Test
    void memberGetsItsBeaconByTheController() {
        join();
        assertTrue(orders().contains("[core=0, repeat=2, slot=0] -> send_commit{edge=1, port=" + WireConstants.PORT_CPU + "}"),
                orders());
        assertFalse(orders().contains("send_sync"), orders());
    }

    @Test
    void whatIsRefusedIsNotHandedOn() {
        join();
        receive(messages.sync(EDGE, NONCE, 110, PHASE_NS, PHASE_NS));
        receive(messages.sync(EDGE, NONCE + 1, 111, PHASE_NS, PHASE_NS));
        receive(messages.sync(EDGE, NONCE, 111, WireConstants.MAX_PHASE_NS + 1, PHASE_NS));
        receive(messages.sync(EDGE, NONCE, 1_000_000, PHASE_NS, PHASE_NS));
        MemberMessages.deliver(membership, 1, DeviceId.of(2), WireConstants.PORT_LINECARD,
                messages.sync(EDGE, NONCE, 111, PHASE_NS, PHASE_NS));
        receive(messages.answer(EDGE, NONCE, PHASE_NS));
        assertEquals(Map.of(MemberRefusal.STALE, 1L, MemberRefusal.WRONG_SESSION, 2L, MemberRefusal.BAD_FIELD, 2L,
                MemberRefusal.UNEXPECTED_PORT, 1L, MemberRefusal.UNKNOWN_EDGE, 0L, MemberRefusal.TRUNCATED, 0L),
                membership.refusals());
        assertEquals(List.of(), membership.takeNotices());
    }

    @Test
    void edgeThatHasGoneIsToldNothing() {
        join();
        MemberMessages.deliver(membership, 1, network.edges().get(EDGE).device(), WireConstants.PORT_LINECARD,
                messages.fault(EDGE, NONCE, EDGE, FaultCode.SYNC_ERROR.code(), 0));
        assertEquals(MemberState.ABSENT, membership.members().get(0).state());
        receive(messages.sync(EDGE, NONCE, 111, PHASE_NS, PHASE_NS));
        membership.masterAt(2, NONCE + 20);
        assertEquals(List.of(), membership.takeNotices());
        assertFalse(orders().contains("slot=0"), orders());
    }

    @Test
    void inBandTheMasterTellsAllOfIt() {
        Network inBand = Networks.byInvitation(Networks.star(3, 8));
        Membership told = new Membership(inBand);
        MemberMessages fromEdge = new MemberMessages(inBand);
        told.masterAt(1, NONCE - 1);
        told.onTime(1);
        for (byte[] frame : List.of(fromEdge.answer(EDGE, NONCE, 0), fromEdge.sync(EDGE, NONCE, 110, 0, 0))) {
            MemberMessages.deliver(told, 1, inBand.master().device(), WireConstants.PORT_OPTICAL_BASE, frame);
            told.masterAt(2, NONCE);
        }
        assertEquals(MemberState.JOINED, told.members().get(0).state());
        assertEquals(List.of(), told.takeNotices());
    }
}

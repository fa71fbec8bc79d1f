// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

class MembershipTest {
    private static final int EDGE = 1;
    private static final int FIBRE = WireConstants.PORT_OPTICAL_BASE;
    private static final long FRAME_NS = 8 * Networks.SLOT_NS;
    private static final long MASTER_FRAME = 100;

    private final Network network = Networks.byInvitation(Networks.star(3, 8));
    private final SwitchRules rules = new SwitchRules(network);
    private final Membership membership = new Membership(network);
    private final MemberMessages messages = new MemberMessages(network);
    private long nowNs = 1_000_000;

    MembershipTest() {
        membership.masterAt(nowNs, MASTER_FRAME);
        membership.onTime(nowNs);
        membership.ordersInForce(nowNs);
    }

    private Member member() {
        return membership.members().get(0);
    }

    private String orders() {
        return rules.memberRules(membership.orders()).toString();
    }

    private void receive(DeviceId device, int port, byte[] frame) {
        MemberMessages.deliver(membership, nowNs, device, port, frame);
    }

    private void receive(byte[] frame) {
        receive(network.master().device(), FIBRE, frame);
    }

    private byte[] answer(long nonce, long measuredNs) {
        return messages.answer(EDGE, nonce, measuredNs);
    }

    private byte[] sync(long session, long frame, long measuredNs, long usedNs) {
        return messages.sync(EDGE, session, frame, measuredNs, usedNs);
    }

    private byte[] fault(long session, int edge, int code, int flags) {
        return messages.fault(EDGE, session, edge, code, flags);
    }

    private long join() {
        long nonce = member().session();
        receive(answer(nonce, -70_000));
        receive(sync(nonce, 110, -70_000, -70_000));
        return nonce;
    }

    private void assertRefused(MemberRefusal reason) {
        assertEquals(1, membership.refusals().get(reason), reason.name());
        assertEquals(1, membership.refusals().values().stream().mapToLong(Long::longValue).sum());
    }

    @Test
    void edgeIsInvitedByNameAndAnswersInTheMiddleOfItsSlot() {
        assertEquals(MemberState.INVITED, member().state());
        // One frame, half of 240 us, less twice 10 us.
        assertTrue(orders().contains("send_invitation{answer_ns=" + (FRAME_NS + 120_000 - 20_000)
                + ", edge=1, mac=3294239981568, nonce=101, port=256}"), orders());
    }

    @Test
    void answerIsMeasuredAndConfigured() {
        receive(answer(101, -70_000));
        assertEquals(MemberState.CONFIGURING, member().state());
        assertEquals(-70_000, member().phaseNs());
        assertTrue(orders().contains("send_configuration{edge=1, guard_ns=10000, hold_frames=8, phase_ns=-70000, "
                + "port=256, session=101, slot_ns=250000, slots=8}"), orders());
        assertTrue(orders().contains("accept_session{session=101}"), orders());
        assertTrue(orders().contains("[core=0, repeat=2, slot=1] -> send_sync{edge=1"), orders());
    }

    @Test
    void firstMeasurementMakesAMemberThatGetsBeacons() {
        receive(answer(101, -70_000));
        receive(sync(101, 110, -70_020, -70_000));
        assertEquals(MemberState.JOINED, member().state());
        assertEquals(-70_020, member().phaseNs());
        assertEquals(-20, member().errorNs());
        assertTrue(orders().contains("[core=0, repeat=1, slot=1] -> send_commit{edge=1"), orders());
        assertTrue(orders().contains("[core=0, repeat=2, slot=1] -> send_sync{edge=1"), orders());
    }

    @Test
    void silenceIsInvitedAgainLessAndLessOften() {
        long[] waits = new long[3];
        for (int round = 0; round < waits.length; round++) {
            nowNs = membership.deadlineNs().orElseThrow();
            membership.onTime(nowNs);
            assertEquals(MemberState.ABSENT, member().state());
            assertFalse(orders().contains("slot=1]"), orders());
            waits[round] = membership.deadlineNs().orElseThrow() - nowNs;
            nowNs += waits[round];
            membership.masterAt(nowNs, MASTER_FRAME + 50L * (round + 1));
            membership.onTime(nowNs);
            membership.ordersInForce(nowNs);
            assertEquals(MASTER_FRAME + 50L * (round + 1) + 1, member().session());
        }
        assertEquals(List.of(2 * FRAME_NS, 4 * FRAME_NS, 8 * FRAME_NS), List.of(waits[0], waits[1], waits[2]));
    }

    @Test
    void edgeIsWaitedForFromWhenTheMasterHasItsOrders() {
        long answeredBy = membership.deadlineNs().orElseThrow();
        nowNs = answeredBy;
        membership.onTime(nowNs);
        nowNs = membership.deadlineNs().orElseThrow();
        membership.onTime(nowNs);
        assertEquals(MemberState.INVITED, member().state());
        assertTrue(membership.deadlineNs().isEmpty(), "its table is being written");
        membership.onTime(nowNs + 1_000 * FRAME_NS);
        assertEquals(MemberState.INVITED, member().state());
        nowNs += 1_000 * FRAME_NS;
        membership.ordersInForce(nowNs);
        receive(answer(member().session(), -70_000));
        assertEquals(MemberState.CONFIGURING, member().state());
        membership.ordersInForce(nowNs);
        // An edge goes unmeasured for 8 frames, so T_d may not be older either.
        nowNs += 8 * FRAME_NS;
        membership.onTime(nowNs);
        assertEquals(MemberState.ABSENT, member().state());
    }

    @Test
    void memberThatIsNotHeardAnyMoreIsInvitedAgain() {
        join();
        nowNs = membership.deadlineNs().orElseThrow();
        // The other edge's invitation may come due before.
        while (member().state() == MemberState.JOINED) {
            nowNs = membership.deadlineNs().orElseThrow();
            membership.onTime(nowNs);
        }
        assertEquals(MemberState.ABSENT, member().state());
        assertFalse(orders().contains("accept_session"), orders());
    }

    @Test
    void largestErrorCountsWhenTheClockIsKnown() {
        long session = join();
        for (int frame = 111; frame <= 140; frame++) {
            receive(sync(session, frame, -70_000, frame < 120 ? -71_000 : -70_000 + frame % 7));
        }
        assertEquals(6, member().largestErrorNs());
        assertEquals(31, member().measurements());
    }

    @Test
    void replayedAndReorderedMessagesAreStale() {
        long session = join();
        receive(sync(session, 110, 1, 1));
        assertRefused(MemberRefusal.STALE);
        assertEquals(-70_000, member().phaseNs());
    }

    @Test
    void answerToNoInvitationIsRefused() {
        receive(answer(77, 0));
        assertRefused(MemberRefusal.WRONG_SESSION);
        assertEquals(MemberState.INVITED, member().state());
    }

    @Test
    void secondAnswerIsRefused() {
        receive(answer(101, -70_000));
        receive(answer(101, -80_000));
        assertRefused(MemberRefusal.WRONG_SESSION);
        assertEquals(-70_000, member().phaseNs());
    }

    @Test
    void messageFromElsewhereIsRefused() {
        receive(DeviceId.of(3), FIBRE, answer(101, 0));
        assertRefused(MemberRefusal.UNEXPECTED_PORT);
    }

    @Test
    void truncatedMessageIsRefused() {
        byte[] whole = answer(101, 0);
        receive(java.util.Arrays.copyOf(whole, whole.length - 1));
        assertRefused(MemberRefusal.TRUNCATED);
    }

    @Test
    void impossibleTimeDifferenceIsRefused() {
        receive(answer(101, WireConstants.MAX_PHASE_NS + 1));
        assertRefused(MemberRefusal.BAD_FIELD);
    }

    @Test
    void masterAndStrangersAreNoMembers() {
        receive(messages.message(OpticalKind.SYNC, 0, new byte[StampHeader.SIZE + SyncHeader.SIZE]));
        assertRefused(MemberRefusal.UNKNOWN_EDGE);
    }

    @Test
    void faultsAreKeptUntilTheyAreOver() {
        long session = join();
        DeviceId device = network.edges().get(EDGE).device();
        receive(device, WireConstants.PORT_LINECARD, fault(session, EDGE, FaultCode.LOSS_OF_SIGNAL.code(), 0));
        assertEquals(Map.of(FaultCode.LOSS_OF_SIGNAL, nowNs), member().faultsSinceNs());
        assertEquals(MemberState.JOINED, member().state());
        receive(device, WireConstants.PORT_LINECARD, fault(session, EDGE, FaultCode.LOSS_OF_SIGNAL.code(), 1));
        assertEquals(Map.of(), member().faultsSinceNs());
        receive(device, WireConstants.PORT_LINECARD, fault(session, EDGE, FaultCode.SYNC_ERROR.code(), 0));
        assertEquals(MemberState.ABSENT, member().state());
    }

    @Test
    void faultsOfTheSessionAreKeptWhenItsFirstMeasurementComes() {
        long nonce = member().session();
        receive(answer(nonce, -70_000));
        DeviceId device = network.edges().get(EDGE).device();
        receive(device, WireConstants.PORT_LINECARD, fault(nonce, EDGE, FaultCode.POWER.code(), 0));
        receive(sync(nonce, 110, -70_000, -70_000));
        assertEquals(MemberState.JOINED, member().state());
        assertEquals(Map.of(FaultCode.POWER, nowNs), member().faultsSinceNs());
    }

    @Test
    void weakLightIsAWarning() {
        long session = join();
        DeviceId device = network.edges().get(EDGE).device();
        receive(device, WireConstants.PORT_LINECARD, fault(session, EDGE, FaultCode.POWER.code(), 0));
        assertEquals(Map.of(FaultCode.POWER, nowNs), member().faultsSinceNs());
        assertEquals(MemberState.JOINED, member().state());
        receive(device, WireConstants.PORT_LINECARD, fault(session, EDGE, FaultCode.POWER.code(), 1));
        assertEquals(Map.of(), member().faultsSinceNs());
    }

    @Test
    void replayedAndReorderedFaultsAreStale() {
        long session = join();
        byte[] earlier = fault(session, EDGE, FaultCode.SYNC_ERROR.code(), 0);
        byte[] lost = fault(session, EDGE, FaultCode.LOSS_OF_SIGNAL.code(), 0);
        receive(lost);
        receive(fault(session, EDGE, FaultCode.LOSS_OF_SIGNAL.code(), 1));
        receive(lost);
        receive(earlier);
        assertEquals(2, membership.refusals().get(MemberRefusal.STALE));
        assertEquals(Map.of(), member().faultsSinceNs());
        assertEquals(MemberState.JOINED, member().state());
    }

    @Test
    void measurementOfAFarFrameIsRefused() {
        long session = join();
        receive(sync(session, 111, -70_000, -70_000));
        receive(sync(session, 1_000_000, -70_000, -70_000));
        assertRefused(MemberRefusal.BAD_FIELD);
        receive(sync(session, 112, -70_001, -70_000));
        assertEquals(-70_001, member().phaseNs());
    }

    @Test
    void forgedFaultsChangeNothing() {
        long session = join();
        receive(fault(session + 1, EDGE, FaultCode.POWER.code(), 0));
        receive(fault(session, EDGE + 1, FaultCode.POWER.code(), 0));
        receive(fault(session, EDGE, FaultCode.SHUTDOWN.code(), 0));
        receive(fault(session, EDGE, 99, 0));
        assertEquals(1, membership.refusals().get(MemberRefusal.WRONG_SESSION));
        assertEquals(3, membership.refusals().get(MemberRefusal.BAD_FIELD));
        assertEquals(MemberState.JOINED, member().state());
    }

    @Test
    void nextControllerTakesSessionsOver() {
        long session = join();
        List<TableEntry> entries = rules.memberRules(membership.orders());
        Membership next = new Membership(network);
        next.adopt(nowNs, entries);
        assertEquals(MemberState.JOINED, next.members().get(0).state());
        assertEquals(session, next.members().get(0).session());
        assertEquals(MemberState.ABSENT, next.members().get(1).state());
    }

    @Test
    void staticMembershipHasNoMembers() {
        Membership none = new Membership(Networks.star(3, 8));
        none.masterAt(nowNs, 1);
        none.onTime(nowNs);
        assertTrue(none.members().isEmpty() && none.orders().isEmpty() && none.deadlineNs().isEmpty());
    }
}

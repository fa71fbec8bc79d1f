// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.OverlaidStars;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.tables.MemberOrder;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.WireConstants;

/** Two overlaid stars of three edges, masters 0 and 1, that all join by invitation: an edge is a member of each by itself. */
class StarsByInvitationTest {
    private static final int EDGES = 3;
    private static final int CPU = WireConstants.PORT_CPU;

    private final Network network = Networks.byInvitation(Networks.overlaid(EDGES, 8, 2));
    private final OverlaidStars controller =
            new OverlaidStars(network, Networks.scheduler(Kinds.FAIR), () -> 0);
    private long nowNs = 1;

    private void hear(int edge, int port, byte[] frame) {
        deliver(new Event.PacketIn(network.edges().get(edge).device(), port, frame));
    }

    private void deliver(Event event) {
        for (Command command : controller.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                deliver(new Event.WriteDone(write.device(), write.batch()));
            }
        }
    }

    private Member member(int core, int edge) {
        return controller.snapshot().states().get(core).members().stream()
                .filter(member -> member.edge().value() == edge).findFirst().orElseThrow();
    }

    /** Edge 2 joins both stars. */
    private void join() {
        network.devices().forEach(device -> deliver(new Event.DeviceReady(device, List.of())));
        for (int core = 0; core < 2; core++) {
            Network star = network.stars().get(core);
            int fibre = WireConstants.PORT_OPTICAL_BASE + core;
            hear(core, WireConstants.PORT_LINECARD, new RequestMessage(core).core(core).frame(100 + core).encode());
            long nonce = member(core, 2).session();
            hear(core, fibre, new MemberMessages(star).answer(2, nonce, -70_000 - core));
            hear(core, fibre, new MemberMessages(star).sync(2, nonce, 110, -70_000 - core, -70_000));
        }
    }

    @Test
    void anEdgeJoinsEachStarWithATimeDifferenceOfItsOwn() {
        join();
        for (int core = 0; core < 2; core++) {
            assertEquals(MemberState.JOINED, member(core, 2).state());
            assertEquals(101 + core, member(core, 2).session());
            assertEquals(-70_000 - core, member(core, 2).phaseNs());
            assertEquals(MemberState.INVITED, member(core, 1 - core).state(), "the other star's master");
        }
    }

    @Test
    void faultIsOfTheStarThatItNames() {
        join();
        int lineCard = WireConstants.PORT_LINECARD;
        // Edge 1 is the second star's master and the first one's stranger; its device speaks for both.
        byte[] ofSecond = new MemberMessages(network.stars().get(1)).fault(2, 102, 2, FaultCode.SYNC_ERROR.code(), 0);
        hear(2, lineCard, ofSecond);
        assertEquals(List.of(MemberState.JOINED, MemberState.ABSENT), List.of(member(0, 2).state(), member(1, 2).state()));
        hear(1, lineCard, new MemberMessages(network.stars().get(1)).fault(1, 0, 1, FaultCode.POWER.code(), 0));
        assertEquals(1, controller.snapshot().memberRefusals().get(MemberRefusal.UNKNOWN_EDGE), "a master is no member");
    }

    @Test
    void lightOfTheOtherStarsFibreIsRefused() {
        join();
        hear(0, WireConstants.PORT_OPTICAL_BASE + 1,
                new MemberMessages(network.stars().get(0)).sync(2, 101, 111, -70_000, -70_000));
        assertEquals(1, controller.snapshot().memberRefusals().get(MemberRefusal.UNEXPECTED_PORT));
        assertEquals(1, member(0, 2).measurements());
    }

    /** In its star slot 0 is edge 0's, in which the master also tells the core. */
    private static String ordersForEdgeZero(Network star, MemberOrder order) {
        return new SwitchRules(star).memberRules(Map.of(0, order)).toString();
    }

    @Test
    void slaveWhoseSlotIsTheFirstIsToldBehindTheCore() {
        Network star = network.stars().get(1);
        assertTrue(ordersForEdgeZero(star, MemberOrder.invite(7, 9)).contains("[core=1, repeat=2, slot=0] -> send_invitation"));
        String kept = ordersForEdgeZero(star, MemberOrder.keep(7));
        assertTrue(kept.contains("[core=1, repeat=2, slot=0] -> send_commit{edge=0, port=257}"), kept);
        assertTrue(kept.contains("[core=1, repeat=3, slot=0] -> send_sync{edge=0, port=257}"), kept);
        String slave = new SwitchRules(star).fixedRules(star.edges().get(0)).toString();
        assertTrue(slave.contains("[core=1, repeat=1, slot=0] -> send_sync"), slave);
        assertTrue(slave.contains("[core=1, repeat=2, slot=0] -> send_request"), slave);
        assertTrue(slave.contains("membership[core=1] -> by_invitation"), slave);
        String master = new SwitchRules(star).fixedRules(star.master()).toString();
        assertTrue(master.contains("membership[core=1] -> inviting"), master);
    }

    @Test
    void outOfBandItsLightComesBehindWhatIsSaidThen() {
        Network star = Networks.outOfBand(network).stars().get(1);
        String slave = new SwitchRules(star).fixedRules(star.edges().get(0)).toString();
        assertTrue(slave.contains("[core=1, repeat=1, slot=0] -> send_request{block=0, port=" + CPU + "}"), slave);
        assertTrue(slave.contains("[core=1, repeat=2, slot=0] -> send_sync{edge=1, port=257}"), slave);
        // The core's beacon, two slaves', a request.
        String invited = ordersForEdgeZero(star, MemberOrder.invite(7, 9));
        assertTrue(invited.contains("[core=1, repeat=5, slot=0] -> send_invitation"), invited);
        String kept = ordersForEdgeZero(star, MemberOrder.keep(7));
        assertTrue(kept.contains("[core=1, repeat=2, slot=0] -> send_commit{edge=0, port=" + CPU + "}"), kept);
        assertFalse(kept.contains("send_sync"), kept);
    }
}

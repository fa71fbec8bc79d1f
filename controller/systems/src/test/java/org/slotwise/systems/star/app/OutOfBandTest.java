// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.demand.Request;
import org.slotwise.systems.star.demand.RequestReader;
import org.slotwise.systems.star.demand.RequestRefusal;
import org.slotwise.systems.star.membership.MemberMessages;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.FramePlan;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Signaling;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ConfigurationHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

class OutOfBandTest {
    private static final DeviceId MASTER = DeviceId.of(1);
    private static final DeviceId SLAVE = DeviceId.of(3);
    private static final int HEADERS = ControlMessage.PAYLOAD;

    private final Network network = network(1, Networks.star(3, 8));
    private final StarController controller =
            new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);

    private static Network network(int slots, Network star) {
        FramePlan plan = new FramePlan(slots, Networks.SLOT_NS, 10_000, Signaling.OUT_OF_BAND);
        return star.toBuilder().frame(plan).build();
    }

    private static byte[] beacon(int version, int core, int from, int to, long frame) {
        return beacon(version, core, from, to, new CommitHeader(frame, 4, 5, frame + 1));
    }

    private static byte[] beacon(int version, int core, int from, int to, CommitHeader commit) {
        return ControlMessage.seal(new EthernetHeader(0, 0, WireConstants.ETHERTYPE_OPTICAL), new OpticalHeader(version,
                OpticalKind.COMMIT.code(), 0, from, to, WireConstants.SIGNALING_QUEUE, 0, core, 99, 0), commit.encode());
    }

    private static byte[] beacon(int to, long frame) {
        return beacon(WireConstants.OPTICAL_VERSION, 0, 0, to, frame);
    }

    private List<Command> packetIn(DeviceId device, int port, byte[] frame) {
        return controller.onEvent(1, new Event.PacketIn(device, port, frame));
    }

    private void assertRefused(RequestRefusal reason, DeviceId device, int port, byte[] frame) {
        long before = controller.snapshot().statistics().refusals().get(reason);
        assertEquals(List.of(), packetIn(device, port, frame), reason::name);
        assertEquals(before + 1, controller.snapshot().statistics().refusals().get(reason), reason::name);
    }

    @Test
    void beaconOfTheMasterIsHandedOnToItsSlave() {
        List<Command> commands = packetIn(MASTER, WireConstants.PORT_LINECARD, beacon(2, 10));
        assertEquals(1, commands.size());
        Command.PacketOut handedOn = (Command.PacketOut) commands.get(0);
        assertEquals(SLAVE, handedOn.device());
        assertEquals(WireConstants.PORT_SELF, handedOn.port());
        OpticalHeader optical = OpticalHeader.decode(handedOn.frame(), EthernetHeader.SIZE).orElseThrow();
        assertEquals(List.of(0, 2, 0), List.of(optical.srcEdge(), optical.dstEdge(), optical.core()));
        CommitHeader commit = CommitHeader.decode(handedOn.frame(), HEADERS).orElseThrow();
        assertEquals(List.of(10L, 4L, 5L, 11L), List.of(
                commit.frame(), commit.activeVersion(), commit.nextVersion(), commit.firstFrame()));
        assertEquals(1, controller.snapshot().statistics().get(Counter.BEACONS_HANDED_ON));
    }

    @Test
    void whatIsForgedStaleOrBrokenIsRefusedAndCounted() {
        int port = WireConstants.PORT_LINECARD;
        packetIn(MASTER, port, beacon(2, 9));
        packetIn(MASTER, port, beacon(2, 10));
        assertRefused(RequestRefusal.STALE, MASTER, port, beacon(2, 10));
        assertRefused(RequestRefusal.STALE, MASTER, port, beacon(2, 9));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, SLAVE, port, beacon(2, 11));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, MASTER, WireConstants.PORT_OPTICAL_BASE, beacon(2, 11));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, MASTER, port, beacon(WireConstants.OPTICAL_VERSION, 0, 1, 2, 11));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, MASTER, port, beacon(WireConstants.OPTICAL_VERSION, 1, 0, 2, 11));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, SLAVE, port, new RequestMessage(2).core(1).encode());
        assertRefused(RequestRefusal.UNKNOWN_EDGE, MASTER, port, beacon(3, 11));
        assertRefused(RequestRefusal.UNKNOWN_EDGE, MASTER, port, beacon(0, 11));
        assertRefused(RequestRefusal.BAD_VERSION, MASTER, port, beacon(9, 0, 0, 2, 11));
        assertRefused(RequestRefusal.BAD_FIELD, MASTER, port, beacon(2, 1_000_000));
        byte[] versionsApart = beacon(WireConstants.OPTICAL_VERSION, 0, 0, 2, new CommitHeader(11, 4, 7, 12));
        assertRefused(RequestRefusal.BAD_FIELD, MASTER, port, versionsApart);
        byte[] whole = beacon(2, 11);
        assertRefused(RequestRefusal.TRUNCATED, MASTER, port, Arrays.copyOf(whole, whole.length - 1));
        byte[] wrongBit = whole.clone();
        wrongBit[HEADERS + 15] ^= 1;
        assertRefused(RequestRefusal.BAD_CHECK, MASTER, port, wrongBit);
        assertEquals(1, packetIn(MASTER, port, whole).size(), "none of these changed anything");
    }

    @Test
    void masterThatStartsAnewMayStartItsFramesAnew() {
        packetIn(MASTER, WireConstants.PORT_LINECARD, beacon(2, 10));
        controller.onEvent(2, new Event.DeviceLost(MASTER));
        assertEquals(1, packetIn(MASTER, WireConstants.PORT_LINECARD, beacon(2, 0)).size());
    }

    @Test
    void eachEdgeAsksByItsOwnSwitch() throws Exception {
        RequestReader reader = new RequestReader(network);
        byte[] request = new RequestMessage(2).encode();
        assertEquals(2, reader.read(SLAVE, WireConstants.PORT_LINECARD, Message.read(request)).edge());
        for (DeviceId other : List.of(MASTER, DeviceId.of(2))) {
            assertThrows(RequestReader.Refused.class, () -> reader.read(other, WireConstants.PORT_LINECARD, Message.read(request)));
        }
        assertThrows(RequestReader.Refused.class,
                () -> reader.read(SLAVE, WireConstants.PORT_OPTICAL_BASE, Message.read(request)));
    }

    @Test
    void roundEndsWithTheMastersRequestHoweverFarAheadSlavesAre() throws Exception {
        RequestReader reader = new RequestReader(network);
        RequestCollection collection = new RequestCollection(network);
        for (long frame = 5; frame < 8; frame++) {
            collection.add(frame, reader.read(SLAVE, WireConstants.PORT_LINECARD, Message.read(new RequestMessage(2).frame(frame).encode())));
            assertFalse(collection.isDue(frame, edge -> false));
            assertEquals(OptionalLong.empty(), collection.deadlineNs());
        }
        Request master = reader.read(MASTER, WireConstants.PORT_LINECARD, Message.read(new RequestMessage(0).frame(5).encode()));
        collection.add(8, master);
        assertTrue(collection.isDue(8, edge -> false));
        collection.close();
        assertFalse(collection.isDue(9, edge -> false));
    }

    @Test
    void everySlotCarriesDataAndAllIsSaidAtTheStartOfAFrame() {
        assertEquals(List.of(0, 1), List.of(network.firstDataSlot(), network.dataSlots()));
        StarModel star = new StarModel(network);
        star.attach(controller);
        assertEquals(List.of("1 send_commit", "2 send_commit", "3 send_commit", "4 send_request"), messages(star, MASTER));
        assertEquals(List.of("1 send_request"), messages(star, SLAVE));
        for (int bank = 0; bank < 2; bank++) {
            for (DeviceId edge : List.of(MASTER, SLAVE)) {
                assertNull(star.entry(edge, "slot_schedule[bank=" + bank + ", core=0, slot=0]"));
            }
        }
    }

    private static List<String> messages(StarModel star, DeviceId device) {
        return IntStream.rangeClosed(1, 6)
                .filter(repeat -> star.entry(device, key(repeat)) != null)
                .mapToObj(repeat -> repeat + " " + star.entry(device, key(repeat)).action())
                .collect(Collectors.toList());
    }

    private static String key(int repeat) {
        return "signaling[core=0, repeat=" + repeat + ", slot=0]";
    }

    @Test
    void edgesThatJoinByInvitationKeepASlotForLightThatIsMeasured() {
        Network invited = Networks.byInvitation(Networks.outOfBand(Networks.star(3, 8)));
        assertEquals(List.of(3, 5), List.of(invited.firstDataSlot(), invited.dataSlots()));
        SwitchRules rules = new SwitchRules(invited);
        Edge slave = invited.edges().get(2);
        String messages = rules.fixedRules(slave).toString();
        for (String rule : List.of("signaling[core=0, repeat=1, slot=2] -> send_sync{edge=0, port=256}",
                "signaling[core=0, repeat=1, slot=0] -> send_request{block=0, port=" + WireConstants.PORT_CPU + "}",
                "by_invitation{fault_port=" + WireConstants.PORT_CPU + ", margin_ns=1000, out_of_band=1}")) {
            assertTrue(messages.contains(rule), messages);
        }
        assertTrue(rules.signalingRules(slave, 0).toString().contains("slot=2] -> grant"));
        assertEquals(2, rules.signalingRules(invited.master(), 0).size());
        assertEquals(4, rules.signalingRules(invited.core(), 0).size());
        assertTrue(assertThrows(InvalidNetworkException.class, () -> Networks.byInvitation(network))
                .getMessage().contains("(one signaling slot each)"));
    }

    private static byte[] ending(int to, FaultHeader fault) {
        return ControlMessage.encode(OpticalKind.FAULT, 0, 0, to, 0, 5, fault.encode());
    }

    @Test
    void masterThatEndsIsHandedOnLikeItsBeacon() {
        int port = WireConstants.PORT_LINECARD;
        FaultHeader fault = new FaultHeader(101, 10, FaultCode.SHUTDOWN.code(), 0, 0);
        Command.PacketOut handedOn = (Command.PacketOut) packetIn(MASTER, port, ending(2, fault)).get(0);
        assertEquals(SLAVE, handedOn.device());
        assertEquals(fault, FaultHeader.decode(handedOn.frame(), HEADERS).orElseThrow());
        assertRefused(RequestRefusal.STALE, MASTER, port, ending(2, fault));
        assertRefused(RequestRefusal.BAD_FIELD, MASTER, port, ending(2, new FaultHeader(101, 11, FaultCode.POWER.code(), 0, 0)));
        assertRefused(RequestRefusal.BAD_FIELD, MASTER, port, ending(2, new FaultHeader(101, 11, FaultCode.SHUTDOWN.code(), 1, 0)));
        assertRefused(RequestRefusal.BAD_FIELD, MASTER, port, ending(2, new FaultHeader(101, 11, FaultCode.SHUTDOWN.code(), 0, 1)));
        assertRefused(RequestRefusal.UNEXPECTED_PORT, SLAVE, port, ending(2, fault));
        byte[] whole = ending(2, fault);
        assertRefused(RequestRefusal.TRUNCATED, MASTER, port, Arrays.copyOf(whole, whole.length - 1));
    }

    @Test
    void whatTheControllerTellsEdgesGoesToTheirSwitches() {
        Network invited = Networks.byInvitation(Networks.outOfBand(Networks.star(3, 8)));
        StarController running = new StarController(invited, Networks.scheduler(Kinds.FAIR), () -> 0);
        new StarModel(invited).attach(running);
        running.onEvent(1, new Event.PacketIn(MASTER, WireConstants.PORT_LINECARD, new RequestMessage(0).frame(100).encode()));
        long nonce = running.snapshot().members().get(1).session();
        byte[] answer = new MemberMessages(invited).answer(2, nonce, 0);
        List<Command.PacketOut> told = running.onEvent(2, new Event.PacketIn(MASTER, WireConstants.PORT_OPTICAL_BASE, answer))
                .stream().filter(Command.PacketOut.class::isInstance).map(Command.PacketOut.class::cast)
                .collect(Collectors.toList());
        assertEquals(1, told.size());
        assertEquals(SLAVE, told.get(0).device());
        assertEquals(WireConstants.PORT_SELF, told.get(0).port());
        assertEquals(nonce, ConfigurationHeader.decode(told.get(0).frame(), HEADERS).orElseThrow().session());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.demand.RequestReader;
import org.slotwise.systems.star.demand.RequestRefusal;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

/** Two overlaid stars that signal out of band: what an edge tells the controller says whose it is. */
class OutOfBandStarsTest {
    private static final int EDGES = 3;
    private static final int PORT = WireConstants.PORT_LINECARD;

    private final Network network = Networks.outOfBand(Networks.overlaid(EDGES, 8, 2));
    private final OverlaidStars controller =
            new OverlaidStars(network, Networks.scheduler(Kinds.FAIR), () -> 0);

    private List<Command> hear(int edge, byte[] frame) {
        DeviceId device = network.edges().get(edge).device();
        return controller.onEvent(1, new Event.PacketIn(device, PORT, frame));
    }

    private long count(Counter counter) {
        return controller.snapshot().statistics().get(counter);
    }

    private long refused(RequestRefusal reason) {
        return controller.snapshot().statistics().refusals().get(reason);
    }

    private static byte[] beacon(int core, int from, int to, long frame) {
        return ControlMessage.encode(OpticalKind.COMMIT, core, from, to, 0, 1, new CommitHeader(frame, 0, 0, 0).encode());
    }

    @Test
    void eachEdgeAsksEveryStarByItsOwnSwitch() {
        for (int edge = 0; edge < EDGES; edge++) {
            for (int core = 0; core < 2; core++) {
                hear(edge, new RequestMessage(edge).core(core).frame(5).encode());
            }
        }
        assertEquals(2 * EDGES, count(Counter.REQUESTS_RECEIVED), "frame 5 is new once in each star");
        hear(2, new RequestMessage(2).core(1).frame(5).encode());
        assertEquals(1, refused(RequestRefusal.STALE));
    }

    @Test
    void requestSaysWhetherThereIsLight() throws Exception {
        RequestReader reader = new RequestReader(network.stars().get(1));
        DeviceId device = network.edges().get(2).device();
        assertTrue(reader.read(device, PORT, Message.read(new RequestMessage(2).core(1).encode())).hasLight());
        assertFalse(reader.read(device, PORT, Message.read(new RequestMessage(2).core(1).dark().encode())).hasLight());
    }

    @Test
    void whatIsOfNoStarIsRefused() {
        hear(2, new RequestMessage(2).core(2).encode());
        hear(2, new RequestMessage(1).core(1).encode());
        assertEquals(2, refused(RequestRefusal.UNEXPECTED_PORT));
        assertEquals(List.of(), hear(0, beacon(1, 0, 2, 9)), "edge 0 is the other star's master");
        assertEquals(3, refused(RequestRefusal.UNEXPECTED_PORT));
        hear(0, new byte[EthernetHeader.SIZE]);
        assertEquals(1, refused(RequestRefusal.TRUNCATED));
        assertEquals(0, count(Counter.REQUESTS_RECEIVED));
    }

    @Test
    void beaconsOfBothMastersGoToTheSlaveThatTheyAreFor() {
        for (int core = 0; core < 2; core++) {
            List<Command> commands = hear(core, beacon(core, core, 2, 9));
            assertEquals(1, commands.size());
            Command.PacketOut handedOn = (Command.PacketOut) commands.get(0);
            assertEquals(network.edges().get(2).device(), handedOn.device());
            OpticalHeader optical = OpticalHeader.decode(handedOn.frame(), EthernetHeader.SIZE).orElseThrow();
            assertEquals(List.of(core, core, 2), List.of(optical.core(), optical.srcEdge(), optical.dstEdge()));
        }
        assertEquals(2, count(Counter.BEACONS_HANDED_ON));
    }

    @Test
    void starWhoseQueuesAreNotTheFirstAsksForItsOwn() {
        Network star = Networks.outOfBand(Networks.overlaid(6, 8, 4)).stars().get(3);
        // Queues 18 to 23 are of block 1.
        String rules = new SwitchRules(star).fixedRules(star.edges().get(0)).toString();
        assertTrue(rules.contains("send_request{block=1, port=" + WireConstants.PORT_CPU + "}"), rules);
        assertFalse(rules.contains("send_request{block=0"), rules);
    }

    @Test
    void edgesTakeBeaconsOfTheControllerInTheStarsWhoseSlavesTheyAre() {
        SwitchTables tables = new SwitchTables(network.devices());
        List<Command> waiting = new ArrayList<>();
        network.devices().forEach(device ->
                waiting.addAll(controller.onEvent(1, new Event.DeviceReady(device, List.of()))));
        while (!waiting.isEmpty()) {
            Command command = waiting.remove(0);
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                for (Update update : write.updates()) {
                    tables.apply(write.device(), update);
                }
                waiting.addAll(controller.onEvent(1, new Event.WriteDone(write.device(), write.batch())));
            }
        }
        assertTrue(controller.isConfigured());
        for (Edge edge : network.edges()) {
            for (Network star : network.stars()) {
                TableEntry entry = tables.get(edge.device(), "membership[core=" + star.core().id() + "]");
                boolean isSlave = !star.master().id().equals(edge.id());
                assertEquals(isSlave ? "out_of_band" : null, entry == null ? null : entry.action());
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.wire.Limits;

class NetworkTest {
    private static final Core CORE = new Core(CoreId.of(0), EdgeId.of(0), DeviceId.of(1001));
    private static final FramePlan FRAME = new FramePlan(20, 250_000, 10_000);

    @Test
    void mainScenarioCarriesFourPacketsASlot() {
        Network network = Networks.star(4, 20);
        assertEquals(1480, network.wireMtuBytes());
        assertEquals(4 * 1480, network.slotPayloadBytes(network.edges().get(1)));
        assertEquals(16, network.dataSlots());
        assertEquals(4, network.firstDataSlot());
        assertEquals(1, network.requestBlocks());
    }

    @Test
    void masterHasSignalingSlotZeroWhateverItsNumber() {
        Network network = Networks.star(4, 20, 2);
        List<Integer> slots = new ArrayList<>();
        network.edges().forEach(edge -> slots.add(network.signalingSlot(edge)));
        assertEquals(List.of(1, 2, 0, 3), slots);
    }

    @Test
    void payloadOfTheFastestFibreAndLongestSlotDoesNotOverflow() {
        Network network = network(new FramePlan(20, Limits.MAX_SLOT_NS, 0),
                List.of(Networks.edge(0, Limits.MAX_RATE_BPS), Networks.edge(1, Limits.MAX_RATE_BPS)));
        assertEquals(50_000_000_000L / 1480 * 1480, network.slotPayloadBytes(network.edges().get(0)));
    }

    @Test
    void refusesWhatCannotWorkAndSaysWhere() {
        assertEquals("frame.guard_ns: expected 0 .. slot_ns - 1 = 999, got 1000",
                message(() -> new FramePlan(20, 1000, 1000)));
        assertEquals("frame.slots: expected at least 5 slots for 4 edges (one signaling slot each), got 4",
                message(() -> Networks.star(4, 4)));
        assertEquals("edges: expected 2 .. 240 edges, got 1",
                message(() -> network(FRAME, List.of(Networks.edge(0, 1_000_000_000)))));
        assertEquals("edges[1].id: duplicate 0",
                message(() -> network(FRAME, List.of(Networks.edge(0, 1_000_000_000), Networks.edge(0, 1_000_000_000)))));
        assertEquals("edges[1].fibres[0].rate_bps: a slot carries 300 bytes; expected at least 1480, one packet",
                message(() -> network(FRAME, List.of(Networks.edge(0, 1_000_000_000), Networks.edge(1, 10_000_000)))));
        assertEquals("cores[0].master: unknown edge 7",
                message(() -> Networks.star(4, 20, 7)));
    }

    private static Host host(String name, String ip, String mac, int port) {
        return new Host(name, Ipv4Address.parse(ip), MacAddress.parse(mac), port);
    }

    private static Network withHosts(Host... hosts) {
        Edge edge = Networks.edge(0, 1_000_000_000);
        return network(FRAME, List.of(new Edge(edge.id(), edge.device(), edge.mac(), List.of(hosts), edge.fibres()),
                Networks.edge(1, 1_000_000_000)));
    }

    @Test
    void hostsBehindARouterHaveOnePortAndItsAddress() {
        String router = "02:fe:00:00:00:01";
        Network network = withHosts(host("a", "10.9.0.1", router, 1), host("b", "10.9.0.2", router, 1),
                host("c", "10.9.0.3", "02:00:00:00:00:03", 2));
        assertEquals(3, network.edges().get(0).hosts().size());
        assertEquals("edges[0].hosts[1].mac: expected 02:fe:00:00:00:01, the router's address at port 1, got 02:00:00:00:00:03",
                message(() -> withHosts(host("a", "10.9.0.1", router, 1),
                        host("c", "10.9.0.3", "02:00:00:00:00:03", 1))));
        assertEquals("edges[0].hosts[1].ip: duplicate 10.9.0.1",
                message(() -> withHosts(host("a", "10.9.0.1", router, 1), host("b", "10.9.0.1", router, 1))));
    }

    private static Edge withHostsBehindARouter(int number, int count) {
        List<Host> hosts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            hosts.add(host("h" + i, "10." + (9 + number) + "." + (i >> 8) + "." + (i & 0xff), "02:fe:00:00:00:01", 1));
        }
        Edge edge = Networks.edge(number, 1_000_000_000);
        return new Edge(edge.id(), edge.device(), edge.mac(), hosts, edge.fibres());
    }

    @Test
    void everyEdgeHasARouteToEachHost() {
        network(FRAME, List.of(withHostsBehindARouter(0, 4096), withHostsBehindARouter(1, 4096)));
        assertEquals("edges: expected at most 8192 hosts in total, got 8193", message(
                () -> network(FRAME, List.of(withHostsBehindARouter(0, 4096), withHostsBehindARouter(1, 4097)))));
    }

    @Test
    void requestsAreRareByPowersOfTwoInOneStarWithStaticMembers() {
        assertEquals(64, Networks.askingEvery(64, Networks.star(4, 20)).frame().requestIntervalFrames());
        for (int interval : new int[] {Integer.MIN_VALUE, 0, 3, 128}) {
            assertEquals("frame.request_interval_frames: expected a power of two 1 .. 64, got " + interval,
                    message(() -> rare(interval, Signaling.IN_BAND)));
        }
        assertEquals("frame.request_interval_frames: expected 1 with out-of-band signaling, got 2",
                message(() -> rare(2, Signaling.OUT_OF_BAND)));
        String everyFrame = "frame.request_interval_frames: expected 1 with dynamic membership or several cores, got 4";
        Network star = Networks.askingEvery(4, Networks.star(4, 20));
        assertEquals(everyFrame, message(() -> Networks.byInvitation(star)));
        Network twins = Networks.overlaid(4, 20, 2);
        assertEquals(everyFrame, message(() -> Networks.star(star.frame(), twins.cores(), twins.edges())));
    }

    private static FramePlan rare(int interval, Signaling signaling) {
        return new FramePlan(20, 1000, 0, signaling, interval);
    }

    @Test
    void starsHaveTheEdgesWithAFibreThereAndCommonSlotsAndQueues() {
        List<Core> cores = List.of(core(0, 0), core(2, 3));
        List<Edge> edges = new ArrayList<>();
        for (int id = 0; id < 4; id++) {
            edges.add(Networks.withFibres(Networks.edge(id, 1), id == 1
                    ? List.of(Networks.fibre(0, 200_000_000))
                    : List.of(Networks.fibre(0, 200_000_000), Networks.fibre(2, 400_000_000))));
        }
        Network network = Networks.star(FRAME, cores, edges);
        Network second = network.stars().get(1);
        assertEquals(2, network.stars().size());
        assertEquals(3, second.edges().size());
        assertEquals(EdgeId.of(3), second.master().id());
        assertEquals(4, second.firstDataSlot());
        assertEquals(16, second.dataSlots());
        assertEquals(2, second.signalingSlot(second.edges().get(1)));
        assertEquals(2 * 4 + 3, second.queue(second.master()));
        assertEquals(3, network.stars().get(0).queue(network.stars().get(0).edges().get(3)));
        assertEquals(258, second.edges().get(0).fibre().port());
        assertThrows(IllegalStateException.class, network::core);
        assertThrows(IllegalStateException.class, () -> network.edges().get(0).fibre());
    }

    @Test
    void requestsOfAStarHaveTheBlocksOfItsQueues() {
        Network network = Networks.overlaid(10, 40, 3);
        List<String> blocks = new ArrayList<>();
        network.stars().forEach(star -> blocks.add(star.firstRequestBlock() + "+" + star.requestBlocks()));
        assertEquals(List.of("0+1", "0+2", "1+1"), blocks);
    }

    @Test
    void refusesStarsThatCannotWorkAndSaysWhere() {
        Edge both = Networks.withFibres(Networks.edge(1, 1), List.of(Networks.fibre(0, 1L << 30), Networks.fibre(1, 1L << 30)));
        Edge first = Networks.edge(0, 1L << 30);
        assertEquals("cores[1].master: edge 0 has no fibre to core 1",
                message(() -> Networks.star(FRAME, List.of(core(0, 1), core(1, 0)), List.of(first, both))));
        assertEquals("cores[1].master: duplicate 1",
                message(() -> Networks.star(FRAME, List.of(core(0, 1), core(1, 1)), List.of(first, both))));
        assertEquals("edges: expected at least 2 edges with a fibre to core 1, got 1",
                message(() -> Networks.star(FRAME, List.of(core(0, 0), core(1, 1)), List.of(first, both))));
        assertEquals("cores[0].id: expected 0 .. 7, got 8",
                message(() -> Networks.star(FRAME, List.of(core(8, 0)), List.of(first, both))));
        assertEquals("edges[0].fibres: expected 1 .. 2, got 0", message(() -> Networks.star(FRAME,
                List.of(core(0, 0), core(1, 1)), List.of(Networks.withFibres(first, List.of()), both))));
        assertEquals("edges[0].fibres[1].core: duplicate 0", message(() -> Networks.star(FRAME,
                List.of(core(0, 0), core(1, 1)), List.of(Networks.withFibres(first,
                        List.of(Networks.fibre(0, 1L << 30), Networks.fibre(0, 1L << 30))), both))));
        Edge fifth = Networks.withFibres(Networks.edge(5, 1), both.fibres());
        assertEquals("edges: missing edge 0; expected edges numbered from 0 without gaps with several cores", message(() -> Networks.star(FRAME, List.of(core(0, 1), core(1, 5)), List.of(both, fifth))));
        assertEquals("cores: expected at most 1023 queues per edge (cores x edges), got 1040",
                message(() -> Networks.overlaid(130, 200, 8)));
    }

    @Test
    void edgesMayShareAPortOfACoreButNotTheMasters() {
        Network network = Networks.sharingPorts(20, 0, 1, 1, 239, 1);
        CorePorts ports = network.corePorts();
        assertEquals(3, ports.count());
        assertTrue(ports.areShared());
        assertEquals(3, ports.edgesAt(1));
        assertEquals(4, ports.edgeAt(1, 2));
        assertEquals(2, ports.portOf(3));
        assertFalse(ports.isShared(2));
        assertFalse(Networks.star(4, 20).corePorts().areShared());
        assertEquals("edges[2].fibres[0].core_port: port 0 of core 0 belongs to its master; expected a port that the master does not use",
                message(() -> Networks.sharingPorts(20, 0, 1, 0)));
        assertEquals("edges[1].fibres[0].core_port: expected 0 .. 239, got 240",
                message(() -> Networks.sharingPorts(20, 0, 240)));
        assertEquals("edges[1].fibres[0].core_port: expected 0 .. 239, got -1",
                message(() -> Networks.sharingPorts(20, 0, -1)));
    }

    @Test
    void anEdgeMayShareAPortOfOneCoreAndHaveOneForItselfOfAnother() {
        List<Edge> edges = new ArrayList<>();
        for (int id = 0; id < 4; id++) {
            edges.add(Networks.withFibres(Networks.edge(id, 1), List.of(Networks.fibre(0, 200_000_000), new Fibre(CoreId.of(1),
                    257, 200_000_000, 10_000, id == 3 ? OptionalInt.of(2) : OptionalInt.empty()))));
        }
        Network network = Networks.star(FRAME, List.of(core(0, 0), core(1, 1)), edges);
        assertFalse(network.stars().get(0).corePorts().areShared());
        assertEquals(2, network.stars().get(1).corePorts().portOf(3));
        assertThrows(IllegalStateException.class, network::corePorts);
    }

    private static Core core(int id, int master) {
        return new Core(CoreId.of(id), EdgeId.of(master), DeviceId.of(1001 + id));
    }

    @Test
    void addressesAreStrict() {
        assertEquals("02:00:00:01:00:0a", MacAddress.parse("02:00:00:01:00:0A").toString());
        assertEquals("10.0.255.1", Ipv4Address.parse("10.0.255.1").toString());
        for (String bad : List.of("", "10.0.0", "10.0.0.256", "10.0.0.1 ", "1.2.3.4.5", "10.0.0.01", "99999999999.0.0.1")) {
            assertThrows(IllegalArgumentException.class, () -> Ipv4Address.parse(bad), bad);
        }
        for (String bad : List.of("0.0.0.1", "127.0.0.1", "224.0.0.0", "255.255.255.255", "10.0.0")) {
            assertThrows(IllegalArgumentException.class, () -> Ipv4Address.ofHost(bad), bad);
        }
        for (String good : List.of("1.0.0.0", "126.255.255.255", "128.0.0.1", "223.255.255.255")) {
            assertEquals(good, Ipv4Address.ofHost(good).toString());
        }
        for (String bad : List.of("", "02:00:00:00:00", "02-00-00-00-00-00", "02:00:00:00:00:0g", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff",
                "03:00:00:00:00:00")) {
            assertThrows(IllegalArgumentException.class, () -> MacAddress.parse(bad), bad);
        }
    }

    @Test
    void versionsWrapAndAlternateBanks() {
        Version last = Version.of(0xffff_ffffL);
        assertEquals(1, last.bank());
        assertEquals(Version.of(0), last.next());
        assertThrows(IllegalArgumentException.class, () -> Version.of(-1));
        assertThrows(IllegalArgumentException.class, () -> Version.of(1L << 32));
    }

    private static Network network(FramePlan frame, List<Edge> edges) {
        return new Network.Builder(frame, TimestampUnit.NS, List.of(CORE), edges, 1, 1450).build();
    }

    private static String message(Runnable invalid) {
        return assertThrows(InvalidNetworkException.class, invalid::run).getMessage();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.systems.ops.model.Meshes;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsEdges;
import org.slotwise.systems.ops.model.OpsFlowQueue;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsProbes;
import org.slotwise.systems.ops.model.OpsShare;
import org.slotwise.systems.ops.model.OpsTraffic;
import org.slotwise.systems.ops.model.OpsTraffic.Scheme;
import org.slotwise.systems.shared.model.TrafficClass;

class EdgeTablesTest {
    /** What edge 1 of three, or 0 of two, has in a table. */
    private static List<String> of(OpsNetwork network, String table) {
        OpsEdge edge = network.edges().get(network.edges().size() - 2);
        Map<Integer, Double> weights = new TreeMap<>();
        network.settings().traffic().classes().forEach((number, each) -> weights.put(number, each.weight()));
        Map<Integer, List<Integer>> ways = edge.isDirect() ? Map.of(1 - edge.number(), List.of(1, 0)) : Map.of();
        List<TableEntry> entries = new EdgeTables(network).of(edge, weights, ways);
        assertTrue(entries.stream().allMatch(entry -> EdgeTables.ALL.contains(entry.table())));
        return entries.stream().filter(entry -> entry.table().equals(table)).map(TableEntry::toString).collect(Collectors.toList());
    }

    private static OpsNetwork by(Scheme scheme) {
        return Meshes.triangle().with(Meshes.trains(scheme)).build();
    }

    @Test
    void trainsByClassHaveAQueueForEachEdgeAndClass() {
        OpsNetwork network = by(Scheme.CLASS);
        assertEquals(List.of("voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}", "voq[class=1, dst_edge=0] -> enqueue{port=257, queue=1}",
                "voq[class=2, dst_edge=0] -> enqueue{port=257, queue=2}", "voq[class=0, dst_edge=2] -> enqueue{port=256, queue=6}",
                "voq[class=1, dst_edge=2] -> enqueue{port=257, queue=7}", "voq[class=2, dst_edge=2] -> enqueue{port=257, queue=8}"),
                of(network, EdgeTables.VOQ));
        assertEquals(6, of(network, EdgeTables.AGGREGATION).size());
        assertEquals("aggregation[queue=7] -> aggregate{size_bytes=9000}", of(network, EdgeTables.AGGREGATION).get(4));
        assertEquals("train_queue[queue=7] -> set_train{dst_edge=2, port=257, second=0, traffic_class=1}", of(network, EdgeTables.TRAIN_QUEUE).get(4));
    }

    @Test
    void inFullAllClassesShareThatOfTheFirst() {
        OpsNetwork network = by(Scheme.FULL);
        assertEquals(List.of("voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}", "voq[class=1, dst_edge=0] -> enqueue{port=256, queue=0}",
                "voq[class=2, dst_edge=0] -> enqueue{port=256, queue=0}"), of(network, EdgeTables.VOQ).subList(0, 3));
        assertEquals(List.of("train_queue[queue=0] -> set_train{dst_edge=0, port=256, second=0, traffic_class=0}",
                "train_queue[queue=6] -> set_train{dst_edge=2, port=256, second=0, traffic_class=0}"), of(network, EdgeTables.TRAIN_QUEUE));
        assertEquals(2, of(Meshes.paced().build(), EdgeTables.MACROFLOW).size());
    }

    @Test
    void withoutTrainsNothingIsPutTogether() {
        OpsNetwork network = Meshes.triangle().build();
        for (String table : List.of(EdgeTables.AGGREGATION, EdgeTables.TRAIN_QUEUE, EdgeTables.FLOW_QUEUE, EdgeTables.INGRESS, EdgeTables.WEIGHT,
                EdgeTables.MACROFLOW, EdgeTables.SHARE, EdgeTables.AGENT, TrafficClass.TABLE)) {
            assertEquals(List.of(), of(network, table));
        }
    }

    @Test
    void edgesThatAreNotNamedMakeEachPacketATrain() {
        OpsTraffic.Builder traffic = new OpsTraffic.Builder().aggregation(Scheme.FULL, 4500, Set.of("e0", "e2"));
        OpsNetwork network = Meshes.triangle().with(Meshes.settings().trains(9050, 30, 0).traffic(traffic.build())).build();
        assertEquals(List.of(), of(network, EdgeTables.AGGREGATION));
        assertEquals(Scheme.FULL, network.settings().traffic().schemeOf(network.edges().get(2)));
    }

    @Test
    void classesMatchInTheirOrder() {
        assertEquals(List.of("traffic_class[acknowledgement=1&1]@2 -> set_class{traffic_class=2}", "traffic_class[dscp=46&63]@1 -> set_class{traffic_class=1}"),
                of(by(Scheme.CLASS), TrafficClass.TABLE));
    }

    @Test
    void outputsCountTrainsAndClassesShareThem() {
        OpsNetwork network = by(Scheme.CLASS);
        assertEquals(List.of("ingress_params[] -> set_ingress{fair=1, trains=2}"), of(network, EdgeTables.INGRESS));
        assertEquals(List.of("train_weight[class=0] -> set_weight{per_byte=32768}", "train_weight[class=1] -> set_weight{per_byte=21845}",
                "train_weight[class=2] -> set_weight{per_byte=131072}"), of(network, EdgeTables.WEIGHT));
        OpsTraffic unbounded = new OpsTraffic.Builder().aggregation(Scheme.CLASS, 9000, Set.of()).ingress(OptionalInt.empty(), true).build();
        assertEquals(List.of("ingress_params[] -> set_ingress{fair=1, trains=255}"),
                of(Meshes.triangle().with(Meshes.settings().trains(9050, 30, 0).traffic(unbounded)).build(), EdgeTables.INGRESS));
    }

    /** Where no tick is answered by a tag, trains go in their order. */
    @Test
    void anEdgeWithoutTrainsOfSeveralPacketsIsNotFair() {
        OpsTraffic.Builder some = new OpsTraffic.Builder().aggregation(Scheme.CLASS, 9000, Set.of("e0")).ingress(OptionalInt.of(3), true);
        OpsNetwork network = Meshes.triangle().with(Meshes.settings().trains(9050, 30, 0).traffic(some.build())).build();
        assertEquals(List.of("ingress_params[] -> set_ingress{fair=0, trains=3}"), of(network, EdgeTables.INGRESS));
        assertEquals(List.of(), of(network, EdgeTables.WEIGHT));
    }

    /** A packet of 1520 bytes in 50 ms, rounded up; 20 periods a second. */
    @Test
    void aMacroflowHasItsWavelengthAndTheLeastRate() {
        OpsNetwork network = Meshes.triangle().with(Meshes.traffic(Meshes.classes(Scheme.NONE).macroflows(true))).build();
        assertEquals("macroflow[queue=8] -> set_macroflow{dst_edge=2, floor=30400, periods_q8=5120, port=258, shift=0, tells_satisfied=1, traffic_class=2, wavelength=1}",
                of(network, EdgeTables.MACROFLOW).get(5));
        OpsNetwork together = Meshes.triangle().with(Meshes.traffic(Meshes.classes(Scheme.FULL).macroflows(true))).build();
        assertTrue(of(together, EdgeTables.MACROFLOW).stream().allMatch(each -> each.contains("shift=3")), of(together, EdgeTables.MACROFLOW).toString());
        assertEquals(List.of(), of(network, EdgeTables.AGENT));
        network = Meshes.paced().build();
        assertEquals(List.of("xcp_output[queue=256] -> fixed_capacity{overhead=0, throughput=2000000000}",
                "xcp_output[queue=257] -> fixed_capacity{overhead=0, throughput=2000000000}"), of(network, EdgeTables.AGENT));
        assertEquals(1, of(network, OpsTables.XCP_PARAMS).size());
        OpsProbes slow = new OpsProbes(100_000_000, 30_000_000, 0.2, 0.056, 0.1);
        OpsTraffic paced = new OpsTraffic.Builder().macroflows(false).build();
        assertEquals("macroflow[queue=0] -> set_macroflow{dst_edge=0, floor=50000, periods_q8=8533, port=257, shift=0, tells_satisfied=0, traffic_class=0, wavelength=0}",
                of(Meshes.triangle().with(Meshes.settings().probes(slow).traffic(paced)).build(), EdgeTables.MACROFLOW).get(0));
    }

    /** 0.9 Gb/s in 50 ms are 5,625,000 bytes; three edges with three classes; no agents, whatever the document says of them. */
    @Test
    void edgesThatShareAreToldOfWhatAndHaveNoAgents() {
        OpsTraffic.Builder traffic = Meshes.classes(Scheme.NONE).share(new OpsShare(900_000_000, 0.15, 0.2, true));
        OpsNetwork network = Meshes.triangle().with(Meshes.traffic(traffic)).agents().build();
        assertEquals(List.of("share_params[] -> set_share{alpha_q16=9830, beta_q16=13107, capacity=5625000, capped=1, classes=3, hold_ns=150000000, "
                + "periods_q16=1310720, sessions=9}"), of(network, EdgeTables.SHARE));
        assertEquals(6, of(network, EdgeTables.MACROFLOW).size());
        assertEquals(List.of(), of(network, EdgeTables.AGENT));
        assertEquals(List.of(), of(Meshes.paced().build(), EdgeTables.SHARE));
    }

    @Test
    void flowsThatAreNamedHaveTrainsOfTheirOwn() {
        OpsFlowQueue flow = new OpsFlowQueue(Ipv4Address.parse("10.1.0.1"), Ipv4Address.parse("10.1.0.2"), 6, 1024, 80, 5, 1, 0);
        OpsTraffic traffic = new OpsTraffic.Builder().aggregation(Scheme.FLOW, 4500, Set.of()).build();
        OpsNetwork network = Meshes.twoLinks(traffic, List.of(flow));
        assertEquals(List.of("flow_queue[dst=167837698, l4_dst=80, l4_src=1024, protocol=6, src=167837697] -> set_flow_queue{queue=5}"),
                of(network, EdgeTables.FLOW_QUEUE));
        assertEquals(List.of("train_queue[queue=1] -> set_train{dst_edge=1, port=258, second=256, traffic_class=0}",
                "train_queue[queue=5] -> set_train{dst_edge=1, port=258, second=256, traffic_class=0}"), of(network, EdgeTables.TRAIN_QUEUE));
        assertEquals(List.of("voq[class=0, dst_edge=1] -> enqueue{port=258, queue=1}"), of(network, EdgeTables.VOQ), "the tick chooses");
        assertEquals(List.of("aggregation[queue=1] -> aggregate{size_bytes=4500}"), of(network, EdgeTables.AGGREGATION), "flows have their class's size");
    }

    /** Numbers that are ports of outputs are left out. */
    @Test
    void queuesOfManyEdgesAreAllDifferent() {
        OpsTraffic traffic = new OpsTraffic.Builder().classes(List.of(new TrafficClass(3, OptionalInt.of(1), false, 0, 1))).build();
        List<Integer> queues = new ArrayList<>();
        for (int edge = 0; edge < OpsNetwork.MAX_NODES; edge++) {
            for (int each = 0; each < traffic.classCount(); each++) {
                queues.add(OpsEdges.queue(traffic, edge, each));
            }
        }
        assertEquals(960, Set.copyOf(queues).size());
        assertEquals(List.of(255, 264), queues.subList(255, 257));
        assertEquals(967, queues.get(959));
    }
}

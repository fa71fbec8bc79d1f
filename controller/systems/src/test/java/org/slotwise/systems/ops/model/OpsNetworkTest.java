// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.systems.shared.model.TrafficClass;

class OpsNetworkTest {
    private final List<OpsSwitch> switches = new ArrayList<>(List.of(new OpsSwitch("s0", Meshes.switchDevice(0)), new OpsSwitch("s1", Meshes.switchDevice(1))));
    private final List<OpsEdge> edges = new ArrayList<>(List.of(Meshes.edge(0, 0, 1), Meshes.edge(1, 1, 1)));
    private final List<OpsLink> links = new ArrayList<>(List.of(new OpsLink(0, 1, 0, 0, 1000)));

    private OpsNetwork build() {
        return new OpsNetwork("two", Meshes.settings().build(), switches, edges, links);
    }

    private static void refused(String reason, Executable made) {
        assertEquals(reason, assertThrows(InvalidNetworkException.class, made).getMessage());
    }

    @Test
    void portsAreThoseOfFibresAndWavelengths() {
        OpsNetwork network = Meshes.triangle().with(Meshes.settings().wavelengths(2, true, 2)).build();
        assertEquals(Set.of(256, 257, 260, 261, 264, 265), network.dataPorts(0));
        assertEquals(Set.of(256, 257, 258, 260, 261, 262, 264, 265, 266), network.opticalPorts(Meshes.switchDevice(0)));
        assertEquals(Set.of(256, 257, 258), network.opticalPorts(Meshes.edgeDevice(2)));
        assertEquals(6, network.topology().nodes().size());
        assertEquals(6, network.topology().links().size());
        assertEquals("5003:256 > 4003:264", network.topology().links().get(5).there().toString());
    }

    @Test
    void edgesMayComeInAnyOrder() {
        edges.add(0, edges.remove(1));
        assertEquals("e0", build().edges().get(0).name());
    }

    private static TrafficClass of(int number, int dscp, boolean acknowledgements, int wavelength, double weight) {
        return new TrafficClass(number, dscp < 0 ? OptionalInt.empty() : OptionalInt.of(dscp), acknowledgements, wavelength, weight);
    }

    @Test
    void classesThatCannotBeAreRefused() {
        refused("class: expected 0 .. 7, got 8", () -> of(8, 1, false, 0, 1));
        refused("match.dscp: expected 0 .. 63, got 64", () -> of(1, 64, false, 0, 1));
        refused("wavelength: expected 0 .. 7, got 8", () -> of(1, 1, false, 8, 1));
        refused("weight: expected 0.001 .. 1000.0, got 0.0", () -> of(1, 1, false, 0, 0));
        refused("weight: expected 0.001 .. 1000.0, got NaN", () -> of(1, 1, false, 0, Double.NaN));
        refused("match: expected either 'dscp' or 'acknowledgements', got both", () -> of(1, 1, true, 0, 1));
        refused("match: not allowed for class 0, the default class", () -> of(0, 1, false, 0, 1));
        refused("match: missing; expected 'dscp' or 'acknowledgements' for a class above 0", () -> of(1, -1, false, 0, 1));
    }

    @Test
    void whatEdgesCannotMakeOfPacketsIsRefused() {
        OpsTraffic.Builder traffic = new OpsTraffic.Builder().classes(List.of(of(1, 1, false, 0, 1), of(1, 2, false, 0, 1)));
        refused("classes[1].class: duplicate 1", traffic::build);
        traffic.classes(List.of(of(1, 1, false, 1, 1)));
        refused("classes: class 1: expected a wavelength 0 .. 0, got 1", () -> Meshes.settings().traffic(traffic.build()).build());
        traffic.classes(List.of()).aggregation(OpsTraffic.Scheme.FULL, 0, Set.of());
        refused("aggregation.size_bytes: expected 1 .. 8000000, got 0", traffic::build);
        traffic.aggregation(OpsTraffic.Scheme.FULL, 1, Set.of());
        refused("framing_bytes: expected at most 30 with burst assembly (only the first frame has a label), got 50",
                () -> Meshes.settings().traffic(traffic.build()).build());
        traffic.aggregation(OpsTraffic.Scheme.NONE, 0, Set.of()).ingress(OptionalInt.of(255), false);
        refused("ingress.trains: expected 0 .. 254, got 255", traffic::build);
        traffic.ingress(OptionalInt.of(2), true);
        refused("ingress.fair: 'fair' requires burst assembly ('aggregation')", traffic::build);
        traffic.ingress(OptionalInt.of(2), false).macroflows(false);
        refused("ingress: not allowed with 'macroflows', which are paced at the source", traffic::build);
        traffic.ingress(OptionalInt.empty(), false);
        refused("macroflows: requires 'probes'", () -> new OpsSettings.Builder().rateBps(1_000_000).trains(1500, 0, 0).traffic(traffic.build()).build());
        OpsTraffic.Builder sharing = new OpsTraffic.Builder().macroflows(true).share(new OpsShare(1_000_000_000, 0.15, 0.2, false));
        refused("macroflows.satisfied: expected false with 'share', which has no XCP agents", sharing::build);
        refused("macroflows.share.capacity_bps: expected 1 .. 2147483647, got 2550000000", () -> Meshes.settings()
                .probes(new OpsProbes(100_000_000, 600_000_000, 0.2, 0.056, 0.1)).traffic(sharing.macroflows(false)
                        .share(new OpsShare(34_000_000_000L, 0.15, 0.2, false)).build()).build());
        refused("macroflows.share.alpha: expected a value above 0 and below 1, got 1.0", () -> new OpsShare(1, 1, 0.2, false));
        refused("macroflows.share.beta: expected a value above 0 and below 1, got 0.0", () -> new OpsShare(1, 0.1, 0, false));
        refused("macroflows.share.capacity_bps: expected 1 .. 34359738360, got 34359738361", () -> new OpsShare(34_359_738_361L, 0.1, 0.1, false));
        refused("macroflows: expected at most 8 optical ports per edge, got 9 per fibre",
                () -> Meshes.settings().trains(1500, 30, 0).wavelengths(8, false, 4).traffic(traffic.build()).build());
        refused("aggregation.edges: unknown edge 'e9'", () -> Meshes.triangle().with(Meshes.settings().trains(1500, 30, 0)
                .traffic(new OpsTraffic.Builder().aggregation(OpsTraffic.Scheme.FULL, 1, Set.of("e9")).build())).build());
        OpsTraffic many = new OpsTraffic.Builder().classes(List.of(of(7, 1, false, 0, 1))).build();
        Meshes mesh = Meshes.of(130);
        refused("classes: 130 edges with 8 classes use queues up to 1047; expected at most 1022",
                () -> mesh.with(Meshes.settings().traffic(many)).build());
    }

    private OpsEdge direct(int number, OpsEdge.Direct... fibres) {
        OpsEdge plain = Meshes.edge(number, 0, 0);
        return OpsEdge.direct(plain.name(), plain.device(), number, plain.mac(), List.of(fibres), plain.hosts());
    }

    private static OpsEdge.Direct fibre(int number, int to) {
        return new OpsEdge.Direct(number, to);
    }

    @Test
    void fibresBetweenEdgesThatDoNotFitAreRefused() {
        edges.set(0, direct(0, fibre(0, 1)));
        refused("edges[0]: 'fibres' is not allowed in a network with switches; expected 'switch'", this::build);
        switches.clear();
        links.clear();
        refused("edges[1]: missing 'fibres'; required in a network without switches", this::build);
        edges.set(1, direct(1, fibre(0, 0), fibre(1, 0)));
        refused("edges[0].fibres[0].to: 'e0' has 1 fibres to 'e1'; expected 2, as in the other direction", this::build);
        edges.set(1, direct(1, fibre(0, 1)));
        refused("edges[0].fibres[0].to: 'e0' has 1 fibres to 'e1'; expected 0, as in the other direction", this::build);
        edges.set(0, direct(0, fibre(0, 1), fibre(0, 1)));
        edges.set(1, direct(1, fibre(0, 0), fibre(1, 0)));
        refused("edges[0].fibres[1].fibre: duplicate 0", this::build);
        edges.set(0, direct(0, fibre(0, 0)));
        refused("edges[0].fibres[0].to: both ends are 'e0'; expected two edges", this::build);
        edges.set(0, direct(0, fibre(4, 1)));
        refused("edges[0].fibres[0].fibre: expected 0 .. 3, got 4", this::build);
        edges.set(0, direct(0, fibre(0, 2)));
        refused("edges[0].fibres[0].to: expected 0 .. 1, got 2", this::build);
        edges.set(0, direct(0, fibre(3, 1), fibre(1, 1)));
        assertEquals(Set.of(258, 259, 262, 263), build().opticalPorts(Meshes.edgeDevice(0)));
    }

    @Test
    void queuesOfFlowsThatDoNotFitAreRefused() {
        refusedQueue("edges[0].flow_queues[0].queue: expected a queue of at least 2 outside 256 .. 263 (outputs), got 1", flow(1, 1));
        refusedQueue("edges[0].flow_queues[0].queue: expected a queue of at least 2 outside 256 .. 263 (outputs), got 260", flow(1, 260));
        refusedQueue("edges[0].flow_queues[0].dst_edge: expected 0 .. 1, got 2", flow(2, 2));
        refusedQueue("edges[0].flow_queues[1].queue: duplicate 2", flow(1, 2), flow(1, 2));
        refusedQueue("edges[0].flow_queues[1]: duplicate queue for 10.1.0.1:1 to 10.1.0.2:2, protocol 17", flow(1, 2), flow(1, 3));
        refused("queue: expected 0 .. 1022, got 1023", () -> flow(1, 1023));
        edges.set(0, edges.get(0).with(true, List.of()));
        refused("edges[0].agents: requires 'probes'", () -> new OpsNetwork("two", new OpsSettings.Builder().wavelengths(2, false, 1)
                .rateBps(1_000_000).trains(1500, 0, 0).build(), switches, edges, links));
    }

    private void refusedQueue(String reason, OpsFlowQueue... flows) {
        edges.set(0, Meshes.edge(0, 0, 1).with(false, List.of(flows)));
        refused(reason, this::build);
    }

    private static OpsFlowQueue flow(int edge, int queue) {
        return new OpsFlowQueue(Ipv4Address.parse("10.1.0.1"), Ipv4Address.parse("10.1.0.2"), 17, 1, 2, queue, edge, 0);
    }

    @Test
    void whatDoesNotFitTogetherIsRefusedWithPlaceAndReason() {
        edges.set(1, Meshes.edge(1, 1, 0));
        refused("edges[1].fibre: duplicate fibre 0 of 's1'", this::build);
        edges.set(1, Meshes.edge(1, 1, 120));
        refused("edges[1].fibre: expected 0 .. 119 with fibre_shift 1, got 120", this::build);
        edges.set(1, Meshes.edge(1, 2, 1));
        refused("edges[1].switch: expected 0 .. 1, got 2", this::build);
        edges.set(1, Meshes.edge(2, 1, 1));
        refused("edges[1].number: expected 0 .. 1 for 2 edges, got 2", this::build);
        edges.set(1, new OpsEdge("s1", Meshes.edgeDevice(1), 1, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].name: duplicate 's1'", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.switchDevice(1), 1, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].device_id: duplicate 4002", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.edgeDevice(1), 0, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].number: duplicate 0", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.edgeDevice(1), 1, edges.get(0).mac(), 1, 1, 0, edges.get(0).hosts()));
        refused("edges[1].hosts[0].ip: duplicate 10.1.0.1", this::build);
        edges.remove(1);
        refused("edges: expected 2 .. 240, got 1", this::build);
    }

    @Test
    void linksJoinSwitchesThatThereAreByFibresOfTheirOwn() {
        links.add(new OpsLink(1, 0, 2, 0, 1000));
        refused("links[1].fibres[1]: duplicate fibre 0 of 's0'", this::build);
        links.set(1, new OpsLink(1, 1, 2, 3, 1000));
        refused("links[1].b: both ends are 's1'; expected two switches", this::build);
        links.set(1, new OpsLink(2, 0, 2, 3, 1000));
        refused("links[1].a: expected 0 .. 1, got 2", this::build);
        links.set(1, new OpsLink(1, 0, 2, 3, -1));
        refused("links[1].delay_ns: expected 0 .. 1000000000, got -1", this::build);
        links.set(1, new OpsLink(1, 0, 2, 240, 0));
        refused("links[1].fibres[1]: expected 0 .. 239, got 240", this::build);
    }

    @Test
    void settingsHaveBounds() {
        refused("fibre_shift: too small: 2^1 ports per fibre; expected at least 3", () -> Meshes.settings().wavelengths(2, false, 1).build());
        refused("wavelengths: expected 1 .. 8, got 9", () -> Meshes.settings().wavelengths(9, false, 4).build());
        refused("target: expected a value above 0 and at most 1, got 0.0", () -> Meshes.settings().target(0).build());
        refused("target: expected a value above 0 and at most 1, got NaN", () -> Meshes.settings().target(Double.NaN).build());
        refused("ram_bytes: expected 0 .. 1073741824, got -1", () -> Meshes.settings().ramBytes(-1).build());
        refused("period_ns: expected 1000000 .. 1000000000, got 999999", () -> new OpsProbes(100_000_000, 999_999, 0.2, 0, 0));
        refused("alpha: expected a value above 0 and at most 1, got 0", () -> new OpsProbes(100_000_000, 50_000_000, 0, 0, 0));
        refused("beta: expected 0 .. 1, got 1.5", () -> new OpsProbes(100_000_000, 50_000_000, 1, 1.5, 0));
    }
}

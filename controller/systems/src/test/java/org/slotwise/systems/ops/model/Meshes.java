// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.systems.shared.model.TrafficClass;

/** Networks of switches s0, s1, ... with an edge each, e0, e1, ..., and a host at each edge. */
public final class Meshes {
    /** The links of {@code topologies/nsfnet.yaml}: switches, km. */
    private static final int[][] NSFNET = {{0, 1, 1050}, {0, 2, 1500}, {0, 7, 2400}, {1, 2, 600}, {1, 3, 750}, {2, 5, 1800}, {3, 4, 600},
        {3, 10, 1950}, {4, 5, 1200}, {4, 6, 600}, {5, 9, 1050}, {5, 13, 1800}, {6, 7, 750}, {7, 8, 750}, {8, 9, 750}, {8, 11, 300},
        {8, 12, 300}, {10, 11, 600}, {10, 12, 750}, {11, 13, 300}, {12, 13, 150}};
    private static final long NS_PER_KM = 5000;
    public static final int HOST_PORT = 1;

    private final int switches;
    private final List<long[]> links = new ArrayList<>();
    private OpsSettings.Builder settings = settings();
    private boolean agents;

    private Meshes(int switches) {
        this.switches = switches;
    }

    /** So many switches without any link yet. */
    public static Meshes of(int switches) {
        return new Meshes(switches);
    }

    /** Three switches, each joined with each: s0-s1 5 ms, s1-s2 3 ms, s0-s2 7 ms. */
    public static Meshes triangle() {
        return of(3).link(0, 1, 5_000_000).link(1, 2, 3_000_000).link(0, 2, 7_000_000);
    }

    /** 14 switches and 21 links of the United States. */
    public static Meshes nsfnet() {
        Meshes mesh = of(14);
        for (int[] link : NSFNET) {
            mesh.link(link[0], link[1], link[2] * NS_PER_KM);
        }
        return mesh;
    }

    /** Some links between some switches, few delays, so that many ways are equal, several links between two switches, and parts without a way. */
    public static Meshes random(Random random) {
        Meshes mesh = of(2 + random.nextInt(9));
        int links = random.nextInt(3 * mesh.switches);
        for (int link = 0; link < links; link++) {
            int a = random.nextInt(mesh.switches);
            mesh.link(a, (a + 1 + random.nextInt(mesh.switches - 1)) % mesh.switches, random.nextInt(4));
        }
        return mesh;
    }

    public Meshes link(int a, int b, long delayNs) {
        links.add(new long[] {a, b, delayNs});
        return this;
    }

    /** The triangle whose edges make trains by class, before outputs that are fair. */
    public static Meshes fair() {
        return triangle().with(trains(OpsTraffic.Scheme.CLASS));
    }

    /** The triangle whose edges pace macroflows, with agents. */
    public static Meshes paced() {
        return triangle().with(traffic(classes(OpsTraffic.Scheme.FULL).macroflows(true))).agents();
    }

    /** Two wavelengths, three classes, two trains before each output. */
    public static OpsSettings.Builder trains(OpsTraffic.Scheme scheme) {
        return traffic(classes(scheme).ingress(OptionalInt.of(2), true));
    }

    public static OpsTraffic.Builder classes(OpsTraffic.Scheme scheme) {
        return new OpsTraffic.Builder().classes(List.of(new TrafficClass(0, OptionalInt.empty(), false, 0, 2),
                new TrafficClass(2, OptionalInt.empty(), true, 1, 0.5), new TrafficClass(1, OptionalInt.of(46), false, 1, 3)))
                .aggregation(scheme, 9000, Set.of());
    }

    public static OpsSettings.Builder traffic(OpsTraffic.Builder traffic) {
        return settings().wavelengths(2, false, 2).trains(9050, 30, 0).traffic(traffic.build());
    }

    public Meshes agents() {
        agents = true;
        return this;
    }

    /** Two edges with two fibres between them. */
    public static OpsNetwork twoLinks(OpsTraffic traffic, List<OpsFlowQueue> flows) {
        List<OpsEdge> edges = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            OpsEdge plain = edge(number, 0, 0);
            edges.add(OpsEdge.direct(plain.name(), plain.device(), number, plain.mac(),
                    List.of(new OpsEdge.Direct(1, 1 - number), new OpsEdge.Direct(0, 1 - number)), plain.hosts()).with(false, flows));
            flows = List.of();
        }
        OpsSettings.Builder settings = new OpsSettings.Builder().wavelengths(2, false, 1).rateBps(1_000_000_000).trains(9050, 30, 0).ways(0, 2)
                .traffic(traffic);
        return new OpsNetwork("two", settings.build(), List.of(), edges, List.of());
    }

    public Meshes with(OpsSettings.Builder other) {
        settings = other;
        return this;
    }

    public static OpsSettings.Builder settings() {
        return new OpsSettings.Builder().wavelengths(1, false, 1).probes(new OpsProbes(100_000_000, 50_000_000, 0.2, 0.056, 0.1))
                .rateBps(1_000_000_000).ramBytes(9000).trains(1500, 50, 0).ways(3, 32);
    }

    public static DeviceId switchDevice(int number) {
        return DeviceId.of(4001 + number);
    }

    public static DeviceId edgeDevice(int number) {
        return DeviceId.of(5001 + number);
    }

    public static OpsEdge edge(int number, int at, int fibre) {
        return new OpsEdge("e" + number, edgeDevice(number), number, MacAddress.parse(String.format("02:f9:00:00:00:%02x", number)), at, fibre,
                100_000, List.of(new Host("h" + number, Ipv4Address.parse("10.1.0." + (number + 1)),
                        MacAddress.parse(String.format("02:fc:00:00:00:%02x", number)), HOST_PORT)));
    }

    /** Fibres of a switch are numbered in the order of links, the edge's is behind them. */
    public OpsNetwork build() {
        int[] fibres = new int[switches];
        List<OpsSwitch> nodes = new ArrayList<>();
        List<OpsLink> joined = new ArrayList<>();
        for (long[] link : links) {
            joined.add(new OpsLink((int) link[0], (int) link[1], fibres[(int) link[0]]++, fibres[(int) link[1]]++, link[2]));
        }
        List<OpsEdge> edges = new ArrayList<>();
        for (int number = 0; number < switches; number++) {
            nodes.add(new OpsSwitch("s" + number, switchDevice(number)));
            edges.add(edge(number, number, fibres[number]).with(agents, List.of()));
        }
        return new OpsNetwork("mesh", settings.build(), nodes, edges, joined);
    }
}

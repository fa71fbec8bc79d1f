// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Host;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsFlowQueue;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.systems.ops.model.OpsShare;
import org.slotwise.systems.ops.model.OpsTraffic;
import org.slotwise.systems.ops.model.OpsTraffic.Scheme;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.WireConstants;

/** The entries of {@code edge.p4} before optical packet switches, or before other edges. Pure. */
final class EdgeTables {
    static final String PARAMS = "edge_params";
    static final String FIBRES = "fibre_params";
    static final String INGRESS = "ingress_params";
    static final String ROUTE = "ipv4_route";
    static final String VOQ = "voq";
    static final String AGGREGATION = "aggregation";
    static final String FLOW_QUEUE = "flow_queue";
    static final String TRAIN_QUEUE = "train_queue";
    static final String WEIGHT = "train_weight";
    static final String MACROFLOW = "macroflow";
    static final String SHARE = OpsShare.TABLE;
    static final String AGENT = "xcp_output";
    static final List<String> ALL = List.of(PARAMS, FIBRES, INGRESS, ROUTE, TrafficClass.TABLE, VOQ, AGGREGATION, FLOW_QUEUE, TRAIN_QUEUE, WEIGHT,
            MACROFLOW, SHARE, AGENT, OpsTables.XCP_PARAMS);
    private static final int IPV4_BITS = 32;
    /** Of trains that packets of all classes share. */
    private static final int SHARED_CLASS = 0;
    private static final int NO_PORT = 0;
    private static final long NS_PER_S = 1_000_000_000L;
    /** {@code edge.p4} has the reciprocal of a weight in 1/65536. */
    private static final int WEIGHT_UNIT = 1 << 16;
    /** It has periods a second in 1/256. */
    private static final int PERIODS_UNIT = 1 << 8;
    /** Macroflows of trains: the last period is an eighth of the mean of what they send, of which twice is enough for trains up to ten periods apart. */
    private static final int TRAIN_MEAN_SHIFT = 3;
    /** Longest packet of a host with all that a frame of light has before it. */
    private static final int LONGEST_FRAME = 1550;

    private final OpsNetwork network;
    private final OpsSettings settings;
    private final OpsTraffic traffic;

    EdgeTables(OpsNetwork network) {
        this.network = network;
        this.settings = network.settings();
        this.traffic = settings.traffic();
    }

    /** The ports to one edge, of one class. */
    private static final class Ports {
        private final int first;
        private final int second;
        private final int probes;

        Ports(int first, int second, int probes) {
            this.first = first;
            this.second = second;
            this.probes = probes;
        }
    }

    /**
     * All entries that an edge is to have.
     *
     * @param weights of classes, by number
     * @param ways of an edge without a switch: fibres to the others by their number, the first choice first
     */
    List<TableEntry> of(OpsEdge own, Map<Integer, Double> weights, Map<Integer, List<Integer>> ways) {
        List<TableEntry> entries = new ArrayList<>();
        addParams(own, entries);
        addRoutes(own, entries);
        entries.addAll(TrafficClass.entries(traffic.ordered()));
        addQueues(own, entries, ways);
        if (isFair(own)) {
            weights.forEach((number, weight) -> entries.add(TableEntry.in(WEIGHT).exact("class", number).action("set_weight")
                    .param("per_byte", Math.round(WEIGHT_UNIT / weight)).build()));
        }
        return entries;
    }

    private void addParams(OpsEdge own, List<TableEntry> entries) {
        entries.add(TableEntry.in(PARAMS).action("set_label_params").param("edge_id", own.number()).param("mac", own.mac().value())
                .param("framing_bytes", settings.framingBytes()).param("deflections", settings.deflections()).param("hops", settings.hops()).build());
        if (settings.probes().isPresent() || own.isDirect()) {
            entries.add(TableEntry.in(FIBRES).action("set_fibres").param("wavelengths", settings.wavelengths())
                    .param("fibre_shift", settings.fibreShift()).build());
        }
        if (traffic.trains().isPresent() || isFair(own)) {
            entries.add(TableEntry.in(INGRESS).action("set_ingress").param("trains", traffic.trains().orElse(WireConstants.NO_TRAIN_LIMIT))
                    .param("fair", isFair(own) ? 1 : 0).build());
        }
        traffic.share().ifPresent(share -> entries.add(share.entry(network.edges().size() * traffic.classCount(), traffic.classCount(),
                settings.probes().orElseThrow().periodNs())));
        if (own.hasAgents() && settings.hasAgents()) {
            settings.probes().ifPresent(probes -> entries.add(OpsTables.xcpParams(probes)));
            for (int port : network.edgeDataPorts(own)) {
                entries.add(TableEntry.in(AGENT).exact("queue", port).action("fixed_capacity")
                        .param("throughput", OpsTables.throughput(settings, 1)).param("overhead", 0).build());
            }
        }
    }

    /** A packet that is a train of its own has no tick that could be answered by a tag. */
    private boolean isFair(OpsEdge own) {
        return traffic.isFair() && traffic.schemeOf(own) != Scheme.NONE;
    }

    private void addRoutes(OpsEdge own, List<TableEntry> entries) {
        for (OpsEdge edge : network.edges()) {
            for (Host host : edge.hosts()) {
                TableEntry.Builder entry = TableEntry.in(ROUTE).match(Match.lpm("dst", host.ip().value(), IPV4_BITS));
                entries.add(edge == own ? entry.action("to_host").param("port", host.port()).param("mac", host.mac().value()).build()
                        : entry.action("to_edge").param("edge", edge.number()).build());
            }
        }
    }

    private void addQueues(OpsEdge own, List<TableEntry> entries, Map<Integer, List<Integer>> ways) {
        Scheme scheme = traffic.schemeOf(own);
        SortedMap<Integer, TrafficClass> classes = traffic.classes();
        Set<Integer> trains = new HashSet<>();
        for (OpsEdge edge : network.edges()) {
            if (edge != own) {
                for (TrafficClass each : classes.values()) {
                    TrafficClass shared = scheme == Scheme.FULL ? classes.get(SHARED_CLASS) : each;
                    addQueue(own, edge, each, shared, scheme, trains, entries, ways);
                }
            }
        }
        if (scheme == Scheme.FLOW) {
            own.flowQueues().forEach(flow -> addFlow(own, flow, classes, entries, ways));
        }
    }

    /** What goes to an edge and is of class {@code each} is put in the queue of class {@code shared}; {@code trains} are the queues that have been seen. */
    private void addQueue(OpsEdge own, OpsEdge edge, TrafficClass each, TrafficClass shared, Scheme scheme, Set<Integer> trains,
            List<TableEntry> entries, Map<Integer, List<Integer>> ways) {
        List<Integer> fibres = fibres(own, edge, ways);
        if (fibres.isEmpty()) {
            return;
        }
        Ports ports = ports(fibres, shared);
        int queue = network.queue(edge.number(), shared.number());
        TableEntry.Builder voq = TableEntry.in(VOQ).exact("dst_edge", edge.number()).exact("class", each.number());
        boolean hasChoice = ports.second != NO_PORT && scheme == Scheme.NONE;
        voq.action(hasChoice ? "enqueue_either" : "enqueue").param("queue", queue).param("port", ports.first);
        entries.add((hasChoice ? voq.param("second", ports.second) : voq).build());
        if (!trains.add(queue)) {
            return;
        }
        if (scheme != Scheme.NONE) {
            entries.add(TableEntry.in(AGGREGATION).exact("queue", queue).action("aggregate").param("size_bytes", traffic.sizeBytes()).build());
            entries.add(train(queue, edge.number(), shared.number(), ports));
        }
        if (traffic.isPaced()) {
            entries.add(macroflow(queue, edge.number(), shared, ports, scheme));
        }
    }

    private void addFlow(OpsEdge own, OpsFlowQueue flow, SortedMap<Integer, TrafficClass> classes, List<TableEntry> entries,
            Map<Integer, List<Integer>> ways) {
        OpsEdge edge = network.edges().get(flow.dstEdge());
        List<Integer> fibres = fibres(own, edge, ways);
        TrafficClass each = classes.getOrDefault(flow.trafficClass(), classes.get(SHARED_CLASS));
        if (edge != own && !fibres.isEmpty()) {
            entries.add(TableEntry.in(FLOW_QUEUE).exact("src", flow.src().value()).exact("dst", flow.dst().value())
                    .exact("protocol", flow.protocol()).exact("l4_src", flow.srcPort()).exact("l4_dst", flow.dstPort())
                    .action("set_flow_queue").param("queue", flow.queue()).build());
            entries.add(train(flow.queue(), flow.dstEdge(), each.number(), ports(fibres, each)));
        }
    }

    private static TableEntry train(int queue, int edge, int trafficClass, Ports ports) {
        return TableEntry.in(TRAIN_QUEUE).exact("queue", queue).action("set_train").param("dst_edge", edge)
                .param("traffic_class", trafficClass).param("port", ports.first).param("second", ports.second).build();
    }

    /** It is always allowed a packet a period. Where packets are put together, what it sends is measured over some periods. */
    private TableEntry macroflow(int queue, int edge, TrafficClass of, Ports ports, Scheme scheme) {
        long periodNs = settings.probes().orElseThrow().periodNs();
        long packet = Math.min(settings.longestBytes(), LONGEST_FRAME - settings.framingBytes());
        return TableEntry.in(MACROFLOW).exact("queue", queue).action("set_macroflow").param("dst_edge", edge)
                .param("traffic_class", of.number()).param("wavelength", of.wavelength()).param("port", ports.probes)
                .param("floor", (packet * NS_PER_S + periodNs - 1) / periodNs).param("periods_q8", PERIODS_UNIT * NS_PER_S / periodNs)
                .param("tells_satisfied", traffic.tellsSatisfied() ? 1 : 0).param("shift", scheme == Scheme.NONE ? 0 : TRAIN_MEAN_SHIFT).build();
    }

    /** Fibres that lead to an edge, the first choice first. */
    private static List<Integer> fibres(OpsEdge own, OpsEdge edge, Map<Integer, List<Integer>> ways) {
        return own.isDirect() ? ways.getOrDefault(edge.number(), List.of()) : List.of(OpsNetwork.EDGE_FIBRE);
    }

    private Ports ports(List<Integer> fibres, TrafficClass of) {
        return new Ports(settings.port(fibres.get(0), of.wavelength()),
                fibres.size() > 1 ? settings.port(fibres.get(1), of.wavelength()) : NO_PORT, settings.port(fibres.get(0), settings.wavelengths()));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ops;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Host;
import org.slotwise.wire.WireConstants;

/** The entries of {@code ops.p4}, and those of {@code edge.p4} before it. Pure. */
final class OpsTables {
    static final String PARAMS = "ops_params";
    static final String LABEL_ROUTE = "label_route";
    static final String AGENT = "agent";
    static final String XCP_PARAMS = "xcp_params";
    static final String EDGE_PARAMS = "edge_params";
    static final String ROUTE = "ipv4_route";
    static final String CLASS = "traffic_class";
    static final String VOQ = "voq";
    static final List<String> OF_SWITCHES = List.of(PARAMS, LABEL_ROUTE, AGENT, XCP_PARAMS);
    static final List<String> OF_EDGES = List.of(EDGE_PARAMS, ROUTE, CLASS, VOQ);
    /** Actions' parameters for the places of choices. */
    private static final List<String> PLACES = List.of("first", "second", "third", "fourth");
    private static final int IPV4_BITS = 32;
    /** Without classes all traffic is of this one, and a queue has the number of the edge that it is for. */
    private static final int ONLY_CLASS = 0;
    /** Of the wavelength of that class. */
    private static final int FIRST_WAVELENGTH = 0;
    private static final long NS_PER_S = 1_000_000_000L;
    private static final int Q16_BITS = 16;
    /** XCP's rates are in 1/16 byte/s. */
    private static final int RATE_PER_BPS = 2;

    private final OpsNetwork network;

    OpsTables(OpsNetwork network) {
        this.network = network;
    }

    /** All entries that a switch is to have; {@code targets} by port are told to agents. */
    List<TableEntry> ofSwitch(int number, Map<Integer, Double> targets, Ranks ranks) {
        List<TableEntry> entries = new ArrayList<>();
        entries.add(params());
        network.settings().probes().ifPresent(probes -> entries.add(TableEntry.in(XCP_PARAMS).action("set_xcp_params")
                .param("alpha_q16", probes.alphaQ16()).param("beta_q16", probes.betaQ16()).param("gamma_q16", probes.gammaQ16())
                .param("initial_rtt_ns", probes.periodNs()).param("min_control_ns", probes.periodNs()).param("min_queue_ns", probes.periodNs())
                .param("quantum_ns", 0).build()));
        for (OpsEdge edge : network.edges()) {
            List<Integer> fibres = ranks.fibres(number, edge);
            if (!fibres.isEmpty()) {
                TableEntry.Builder entry = TableEntry.in(LABEL_ROUTE).exact("dst_edge", edge.number()).action("to_fibres");
                for (int place = 0; place < PLACES.size(); place++) {
                    entry.param(PLACES.get(place), place < fibres.size() ? fibres.get(place) : WireConstants.NO_FIBRE);
                }
                entries.add(entry.build());
            }
        }
        targets.forEach((port, target) -> entries.add(TableEntry.in(AGENT).exact("port", port).action("set_target")
                .param("throughput", Math.round(target * network.settings().rateBps() * RATE_PER_BPS)).build()));
        return entries;
    }

    private TableEntry params() {
        OpsSettings settings = network.settings();
        long unitNs = settings.unit().ns();
        long timePerByteQ16 = (Byte.SIZE * NS_PER_S / unitNs << Q16_BITS) / settings.rateBps();
        return TableEntry.in(PARAMS).action("set_ops_params")
                .param("wavelengths", settings.wavelengths()).param("fibre_shift", settings.fibreShift())
                .param("converts", settings.conversion() ? 1 : 0).param("time_per_byte_q16", timePerByteQ16)
                .param("longest_bytes", settings.longestBytes()).param("framing_bytes", settings.framingBytes())
                .param("guard", settings.guardNs() / unitNs).param("ram", settings.ramBytes() * timePerByteQ16 >> Q16_BITS).build();
    }

    /** All entries that an edge is to have. */
    List<TableEntry> ofEdge(OpsEdge own) {
        OpsSettings settings = network.settings();
        List<TableEntry> entries = new ArrayList<>();
        entries.add(TableEntry.in(EDGE_PARAMS).action("set_label_params").param("edge_id", own.number()).param("mac", own.mac().value())
                .param("framing_bytes", settings.framingBytes()).param("deflections", settings.deflections()).param("hops", settings.hops()).build());
        for (OpsEdge edge : network.edges()) {
            for (Host host : edge.hosts()) {
                TableEntry.Builder entry = TableEntry.in(ROUTE).match(Match.lpm("dst", host.ip().value(), IPV4_BITS));
                entries.add(edge == own ? entry.action("to_host").param("port", host.port()).param("mac", host.mac().value()).build()
                        : entry.action("to_edge").param("edge", edge.number()).build());
            }
        }
        for (OpsEdge edge : network.edges()) {
            if (edge != own) {
                entries.add(TableEntry.in(VOQ).exact("dst_edge", edge.number()).exact("class", ONLY_CLASS).action("enqueue")
                        .param("queue", edge.number()).param("port", settings.port(OpsNetwork.EDGE_FIBRE, FIRST_WAVELENGTH)).build());
            }
        }
        return entries;
    }
}

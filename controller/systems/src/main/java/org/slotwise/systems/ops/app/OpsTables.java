// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsProbes;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.wire.WireConstants;

/** The entries of {@code ops.p4}. Pure. */
final class OpsTables {
    static final String PARAMS = "ops_params";
    static final String LABEL_ROUTE = "label_route";
    static final String AGENT = "agent";
    static final String XCP_PARAMS = "xcp_params";
    static final List<String> OF_SWITCHES = List.of(PARAMS, LABEL_ROUTE, AGENT, XCP_PARAMS);
    /** Actions' parameters for the places of choices. */
    private static final List<String> PLACES = List.of("first", "second", "third", "fourth");
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
        network.settings().probes().ifPresent(probes -> entries.add(xcpParams(probes)));
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
                .param("throughput", throughput(network.settings(), target)).build()));
        return entries;
    }

    /** What agents reckon with, of switches and of edges: a macroflow's round trip is a period. */
    static TableEntry xcpParams(OpsProbes probes) {
        return TableEntry.in(XCP_PARAMS).action("set_xcp_params")
                .param("alpha_q16", probes.alphaQ16()).param("beta_q16", probes.betaQ16()).param("gamma_q16", probes.gammaQ16())
                .param("initial_rtt_ns", probes.periodNs()).param("min_control_ns", probes.periodNs()).param("min_queue_ns", probes.periodNs())
                .param("quantum_ns", 0).build();
    }

    /** A part of a wavelength's rate that is above 0, as XCP tells it: never as nothing, however small it is. */
    static long throughput(OpsSettings settings, double part) {
        return Math.max(1, Math.round(part * settings.rateBps() * RATE_PER_BPS));
    }

    /** A guard that is cut off would be too short. */
    private TableEntry params() {
        OpsSettings settings = network.settings();
        long unitNs = settings.unit().ns();
        long timePerByteQ16 = (Byte.SIZE * NS_PER_S / unitNs << Q16_BITS) / settings.rateBps();
        return TableEntry.in(PARAMS).action("set_ops_params")
                .param("wavelengths", settings.wavelengths()).param("fibre_shift", settings.fibreShift())
                .param("converts", settings.conversion() ? 1 : 0).param("time_per_byte_q16", timePerByteQ16)
                .param("longest_bytes", settings.longestBytes()).param("framing_bytes", settings.framingBytes())
                .param("guard", (settings.guardNs() + unitNs - 1) / unitNs).param("ram", settings.ramBytes() * timePerByteQ16 >> Q16_BITS).build();
    }
}

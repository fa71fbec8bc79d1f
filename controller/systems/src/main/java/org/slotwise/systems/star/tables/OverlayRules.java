// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import java.util.ArrayList;
import java.util.List;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.WireConstants;

/**
 * What an edge of overlaid stars needs that belongs to no star: who it is, routes, and by which core each part of its
 * traffic goes. {@link SwitchRules} has the rest, star by star. Pure, as that is.
 */
public final class OverlayRules {
    private final Network network;

    /** Takes a network of several cores. */
    public OverlayRules(Network network) {
        this.network = network;
    }

    /** Which core the parts of an edge's traffic for another go by. */
    public interface Paths {
        /** The core for a part, 0 .. SHARES-1, of what the edge at place {@code from} has for the one at {@code to}. */
        CoreId core(int from, int to, int part);
    }

    /** All entries of an edge that belong to no star. An edge that shares no core with it cannot be reached. */
    public List<TableEntry> rules(Edge edge, Paths paths) {
        List<TableEntry> rules = new ArrayList<>();
        rules.add(edgeParams(edge));
        int from = network.indexOf(edge.id()).orElseThrow();
        for (int to = 0; to < network.edges().size(); to++) {
            Edge other = network.edges().get(to);
            SwitchRules.addRoutes(rules, edge, other);
            List<Network> common = starsWith(edge, other);
            if (to != from && common.size() == 1) {
                rules.add(enqueue(SwitchRules.voq(other), other, common.get(0).core().id()));
            } else if (to != from && common.size() > 1) {
                rules.add(SwitchRules.voq(other).action("share").param("shares", other.id().value()).build());
            }
        }
        rules.addAll(shares(edge, paths));
        return rules;
    }

    /** Those of them that say which way each part goes. */
    public List<TableEntry> shares(Edge edge, Paths paths) {
        List<TableEntry> rules = new ArrayList<>();
        int from = network.indexOf(edge.id()).orElseThrow();
        for (int to = 0; to < network.edges().size(); to++) {
            Edge other = network.edges().get(to);
            boolean shared = to != from && starsWith(edge, other).size() > 1;
            for (int part = 0; shared && part < WireConstants.SHARES; part++) {
                rules.add(enqueue(TableEntry.in(SwitchRules.VOQ_SHARE)
                        .exact("shares", other.id().value()).exact("part", part), other, paths.core(from, to, part)));
            }
        }
        return rules;
    }

    /** Whether an entry is one of {@link #shares}. */
    public static boolean isShare(TableEntry entry) {
        return entry.table().equals(SwitchRules.VOQ_SHARE);
    }

    /** The stars in which both edges are. */
    private List<Network> starsWith(Edge edge, Edge other) {
        List<Network> common = new ArrayList<>();
        for (Network star : network.stars()) {
            if (star.indexOf(edge.id()).isPresent() && star.indexOf(other.id()).isPresent()) {
                common.add(star);
            }
        }
        return common;
    }

    private TableEntry enqueue(TableEntry.Builder entry, Edge other, CoreId core) {
        Network star = star(core);
        return entry.action("enqueue").param("queue", star.queue(other))
                .param("port", WireConstants.PORT_OPTICAL_BASE + core.value()).build();
    }

    private Network star(CoreId core) {
        return network.stars().stream().filter(star -> star.core().id().equals(core)).findFirst().orElseThrow();
    }

    /** In no star the edge is a slave of nobody; each star has an entry of its own. */
    private TableEntry edgeParams(Edge edge) {
        Core first = network.cores().get(0);
        return TableEntry.in(SwitchRules.EDGE_PARAMS).action("set_edge_params")
                .param("edge_id", edge.id().value()).param("is_master", 0)
                .param("master", first.master().value()).param("mac", edge.mac().value())
                .param("guard_ns", network.frame().guardNs()).param("slot_ns", network.frame().slotNs())
                .param("beacon_hold_frames", network.beaconHoldFrames()).build();
    }

    /** Whether an entry of an edge belongs to one of the stars. */
    public static boolean isOf(Network star, TableEntry entry) {
        switch (entry.table()) {
            case SwitchRules.EDGE_PARAMS:
            case SwitchRules.MEMBERSHIP:
            case SwitchRules.SIGNALING:
            case SwitchRules.SLOT_SCHEDULE:
                return entry.matchValue(SwitchRules.CORE).orElse(-1) == star.core().id().value();
            case SwitchRules.MEMBER:
                return entry.matchValue("port").orElse(-1)
                        == WireConstants.PORT_OPTICAL_BASE + star.core().id().value();
            case SwitchRules.XCP_OUTPUT:
            case SwitchRules.XCP_SLOTS:
                long queue = entry.matchValue("queue").orElse(-1);
                return star.edges().stream().anyMatch(edge -> star.queue(edge) == queue);
            default:
                return false;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.systems.star.app.Phase;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarSnapshot;
import org.slotwise.systems.star.app.Statistics;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.membership.Member;
import org.slotwise.systems.star.membership.MemberRefusal;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Fibre;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;

/** Writes the views of a snapshot, one method a view. {@code openapi.yaml} describes them. */
public final class SnapshotCodec {
    private SnapshotCodec() {
    }

    /** What the controller is at. */
    public static ObjectNode status(Snapshot snapshot) {
        Phase phase = snapshot.phase();
        ObjectNode node = object()
                .put("phase", phase.name().toLowerCase(Locale.ROOT))
                .put("configured", phase != Phase.WAITING_FOR_DEVICES && phase != Phase.CONFIGURING)
                .put("devices", snapshot.network().devices().size())
                .put("devices_ready", snapshot.readyDevices().size());
        putVersion(node, snapshot);
        node.put("scheduler", snapshot.scheduler().title());
        for (StarSnapshot star : snapshot.stars()) {
            ObjectNode entry = node.withArray("stars").addObject()
                    .put("core", star.state().network().core().id().value())
                    .put("phase", star.state().phase().name().toLowerCase(Locale.ROOT))
                    .put("live", star.isLive()).put("load_slots", star.loadSlots());
            putVersion(entry, star.state());
            ArrayNode usable = entry.putArray("usable_edges");
            star.usableEdges().forEach(edge -> usable.add(edge.value()));
        }
        return node;
    }

    /** Cores, edges, hosts, fibres, and how time is cut. */
    public static ObjectNode topology(Snapshot snapshot) {
        Network network = snapshot.network();
        ObjectNode node = object();
        node.putObject("frame").put("slots", network.frame().slots()).put("slot_ns", network.frame().slotNs())
                .put("guard_ns", network.frame().guardNs()).put("first_data_slot", network.firstDataSlot());
        node.put("mtu", network.mtu()).put("beacon_hold_frames", network.beaconHoldFrames());
        ArrayNode cores = node.putArray("cores");
        for (Core core : network.cores()) {
            cores.addObject().put("id", core.id().value())
                    .put("master", core.master().value()).put("device_id", core.device().value());
        }
        ArrayNode edges = node.putArray("edges");
        for (Edge edge : network.edges()) {
            ObjectNode entry = edges.addObject().put("id", edge.id().value())
                    .put("device_id", edge.device().value()).put("mac", edge.mac().toString());
            ArrayNode hosts = entry.putArray("hosts");
            for (Host host : edge.hosts()) {
                hosts.addObject().put("name", host.name()).put("ip", host.ip().toString())
                        .put("mac", host.mac().toString()).put("port", host.port());
            }
            ArrayNode fibres = entry.putArray("fibres");
            for (Fibre fibre : edge.fibres()) {
                fibres.addObject().put("core", fibre.core().value()).put("port", fibre.port())
                        .put("rate_bps", fibre.rateBps()).put("delay_ns", fibre.delayNs())
                        .put("core_port", edge.corePort(fibre.core()));
            }
        }
        return node;
    }

    /** Switches and whether they are there. */
    public static ObjectNode nodes(Snapshot snapshot) {
        Network network = snapshot.network();
        ObjectNode node = object();
        ArrayNode nodes = node.putArray("nodes");
        network.cores().forEach(core -> addNode(nodes, snapshot, "core", core.id().value(), core.device()));
        for (Edge edge : network.edges()) {
            ObjectNode entry = addNode(nodes, snapshot, "edge", edge.id().value(), edge.device());
            if (snapshot.stars().isEmpty()) {
                addPlace(entry, network, edge);
            }
            for (StarSnapshot star : snapshot.stars()) {
                Network own = star.state().network();
                own.indexOf(edge.id()).ifPresent(place -> addPlace(entry.withArray("stars").addObject()
                        .put("core", own.core().id().value()), own, own.edges().get(place)));
            }
        }
        return node;
    }

    private static void addPlace(ObjectNode node, Network star, Edge edge) {
        node.put("master", edge == star.master())
                .put("signaling_slot", star.signalingSlot(edge))
                .put("slot_payload_bytes", star.slotPayloadBytes(edge));
    }

    private static ObjectNode addNode(ArrayNode nodes, Snapshot snapshot, String kind, int id, DeviceId device) {
        return nodes.addObject().put("kind", kind).put("id", id).put("device_id", device.value())
                .put("ready", snapshot.readyDevices().contains(device));
    }

    /** How edges joined, their T_d and their faults. */
    public static ObjectNode members(Snapshot snapshot) {
        ObjectNode node = object()
                .put("membership", snapshot.network().byInvitation() ? "invitation" : "static");
        ArrayNode members = node.putArray("members");
        for (Snapshot star : snapshot.states()) {
            for (Member member : star.members()) {
                ObjectNode entry = members.addObject().put("edge", member.edge().value());
                if (!snapshot.stars().isEmpty()) {
                    entry.put("core", star.network().core().id().value());
                }
                putMember(entry, member);
            }
        }
        ObjectNode refused = node.putObject("refused");
        for (MemberRefusal reason : MemberRefusal.values()) {
            refused.put(reason.name().toLowerCase(Locale.ROOT), snapshot.memberRefusals().get(reason));
        }
        return node;
    }

    private static void putMember(ObjectNode entry, Member member) {
        entry.put("state", member.state().name().toLowerCase(Locale.ROOT))
                .put("session", member.session()).put("invitations", member.invitations())
                .put("measurements", member.measurements()).put("t_d_ns", member.phaseNs())
                .put("error_ns", member.errorNs()).put("largest_error_ns", member.largestErrorNs());
        ArrayNode faults = entry.putArray("faults");
        member.faultsSinceNs().keySet().forEach(fault -> faults.add(fault.name().toLowerCase(Locale.ROOT)));
    }

    /** What each edge has for each other, and what it gets. */
    public static ObjectNode demand(Snapshot snapshot) {
        Network network = snapshot.network();
        int[][] granted = snapshot.grantedSlots();
        ObjectNode node = object();
        ArrayNode pairs = node.putArray("pairs");
        for (int i = 0; i < granted.length; i++) {
            for (int j = 0; j < granted.length; j++) {
                if (i != j) {
                    ObjectNode pair = pairs.addObject()
                            .put("from", network.edges().get(i).id().value())
                            .put("to", network.edges().get(j).id().value());
                    putDemand(pair, snapshot, i, j, granted[i][j]);
                    addShares(pair, snapshot, i, j);
                }
            }
        }
        return node;
    }

    private static void putDemand(ObjectNode node, Snapshot snapshot, int from, int to, int granted) {
        node.put("backlog_bytes", snapshot.backlogBytes(from, to))
                .put("arrivals_per_frame_bytes", snapshot.arrivalsPerFrame(from, to))
                .put("demand_slots", snapshot.demandSlots(from, to))
                .put("granted_slots", granted);
    }

    /** What each star has of a pair; nothing of an only star. */
    private static void addShares(ObjectNode pair, Snapshot snapshot, int from, int to) {
        Network network = snapshot.network();
        for (int star = 0; star < snapshot.stars().size(); star++) {
            Snapshot state = snapshot.stars().get(star).state();
            OptionalInt i = state.network().indexOf(network.edges().get(from).id());
            OptionalInt j = state.network().indexOf(network.edges().get(to).id());
            if (i.isPresent() && j.isPresent()) {
                ObjectNode share = pair.withArray("stars").addObject()
                        .put("core", state.network().core().id().value())
                        .put("parts", snapshot.parts(from, to, star));
                putDemand(share, state, i.getAsInt(), j.getAsInt(),
                        state.grantedSlots()[i.getAsInt()][j.getAsInt()]);
            }
        }
    }

    /** The schedule in force as slot tables, one a switch. */
    public static ObjectNode schedule(Snapshot snapshot) {
        Network network = snapshot.network();
        ObjectNode node = object();
        putVersion(node, snapshot);
        node.put("slots", network.frame().slots()).put("first_data_slot", network.firstDataSlot());
        ArrayNode edges = node.putArray("edges");
        ArrayNode cores = node.putArray("cores");
        for (Snapshot star : snapshot.states()) {
            Core core = star.network().core();
            for (int i = 0; i < star.network().edges().size(); i++) {
                Edge edge = star.network().edges().get(i);
                ObjectNode entry = edges.addObject().put("edge", edge.id().value());
                if (!snapshot.stars().isEmpty()) {
                    entry.put("core", core.id().value());
                }
                addSlots(entry.put("device_id", edge.device().value()).putArray("slots"), star, i);
            }
            ObjectNode entry = cores.addObject().put("core", core.id().value());
            if (!snapshot.stars().isEmpty()) {
                putVersion(entry, star);
            }
            addConnections(entry.put("device_id", core.device().value()).putArray("slots"), star);
        }
        return node;
    }

    private static void addSlots(ArrayNode slots, Snapshot star, int input) {
        Network network = star.network();
        addSignalingSlots(slots, network, network.edges().get(input));
        for (int slot = 0; slot < star.schedule().slots(); slot++) {
            int output = star.schedule().output(slot, input);
            if (output >= 0) {
                addSlot(slots, network.firstDataSlot() + slot, "data", network.edges().get(output));
            }
        }
    }

    private static void addSignalingSlots(ArrayNode slots, Network network, Edge edge) {
        Edge master = network.master();
        for (Edge slave : network.hasSignalingSlots() ? network.edges() : List.<Edge>of()) {
            if (slave != master && (edge == slave || edge == master)) {
                addSlot(slots, network.signalingSlot(slave), "signaling", edge == slave ? master : slave);
            }
        }
    }

    private static void addSlot(ArrayNode slots, int slot, String use, Edge to) {
        slots.addObject().put("slot", slot).put("use", use).put("to", to.id().value());
    }

    private static void addConnections(ArrayNode slots, Snapshot snapshot) {
        Network network = snapshot.network();
        for (Edge slave : network.hasSignalingSlots() ? network.edges() : List.<Edge>of()) {
            if (slave != network.master()) {
                ArrayNode connections = slots.addObject().put("slot", network.signalingSlot(slave))
                        .put("use", "signaling").putArray("connections");
                addConnection(connections, slave, network.master());
                addConnection(connections, network.master(), slave);
            }
        }
        for (int slot = 0; slot < snapshot.schedule().slots(); slot++) {
            ArrayNode connections = slots.addObject().put("slot", network.firstDataSlot() + slot)
                    .put("use", "data").putArray("connections");
            for (int i = 0; i < snapshot.schedule().edges(); i++) {
                int output = snapshot.schedule().output(slot, i);
                if (output >= 0) {
                    addConnection(connections, network.edges().get(i), network.edges().get(output));
                }
            }
        }
    }

    private static void addConnection(ArrayNode connections, Edge from, Edge to) {
        connections.addObject().put("from", from.id().value()).put("to", to.id().value());
    }

    /** Counts and times since the controller started. */
    public static ObjectNode statistics(Snapshot snapshot) {
        Statistics statistics = snapshot.statistics();
        ObjectNode node = object()
                .put("frames_scheduled", statistics.get(Counter.FRAMES_SCHEDULED))
                .put("frames_unchanged", statistics.get(Counter.FRAMES_UNCHANGED))
                .put("devices_lost", statistics.get(Counter.DEVICES_LOST));
        if (statistics.get(Counter.SCHEDULER_FAILURES) > 0) {
            node.put("scheduler_failures", statistics.get(Counter.SCHEDULER_FAILURES));
            ArrayNode failed = node.putArray("failed_schedulers");
            statistics.schedulerFailures().forEach((name, failures) -> failed.addObject().put("name", name)
                    .put("frames", failures.frames()).put("failures", failures.count())
                    .put("first_failure", failures.first()).put("last_failure", failures.last()));
        }
        ArrayNode schedulers = node.putArray("schedulers");
        statistics.schedulerFrames().forEach((name, frames) -> schedulers.addObject().put("name", name).put("frames", frames));
        for (Statistics.Duration duration : Statistics.Duration.values()) {
            Statistics.Summary summary = statistics.get(duration);
            node.putObject(duration.name().toLowerCase(Locale.ROOT)).put("count", summary.count())
                    .put("p50", summary.p50()).put("p99", summary.p99()).put("max", summary.max());
        }
        node.putObject("commits").put("sent", statistics.get(Counter.COMMITS_SENT))
                .put("repeated", statistics.get(Counter.COMMITS_REPEATED))
                .put("completed", statistics.get(Counter.COMMITS_COMPLETED));
        node.putObject("writes").put("batches", statistics.get(Counter.WRITE_BATCHES))
                .put("updates", statistics.get(Counter.WRITE_UPDATES))
                .put("failures", statistics.get(Counter.WRITE_FAILURES));
        ObjectNode requests = node.putObject("requests").put("received", statistics.get(Counter.REQUESTS_RECEIVED));
        ObjectNode refused = requests.putObject("refused");
        statistics.refusals().forEach((reason, count) -> refused.put(reason.name().toLowerCase(Locale.ROOT), count));
        return node;
    }

    private static void putVersion(ObjectNode node, Snapshot snapshot) {
        if (snapshot.version().isPresent()) {
            Version version = snapshot.version().get();
            node.put("version", version.value()).put("bank", version.bank());
        } else {
            node.putNull("version").putNull("bank");
        }
    }

    private static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Host;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.WireConstants;

/**
 * Translates intent (the network, a schedule) into table entries of {@code edge.p4} and {@code core.p4}. Pure: one
 * network and one schedule always give the same entries in the same order. All names are P4Info's.
 *
 * <p>Edge and core keep the schedule in two banks. A bank's entries are those for signaling, the same in both, and
 * those for data.
 */
public final class SwitchRules {
    /** Banks of a schedule. */
    public static final int BANKS = 2;

    static final String EDGE_PARAMS = "edge_params";
    static final String IPV4_ROUTE = "ipv4_route";
    static final String VOQ = "voq";
    static final String VOQ_SHARE = "voq_share";
    static final String AGGREGATION = "aggregation";
    static final String TRAIN_QUEUE = "train_queue";
    static final String SLOT_SCHEDULE = "slot_schedule";
    static final String SIGNALING = "signaling";
    static final String MEMBERSHIP = "membership";
    static final String MEMBER = "member";
    static final String CORE_PARAMS = "core_params";
    static final String CROSSBAR = "crossbar";
    static final String XCP_PARAMS = "xcp_params";
    static final String XCP_OUTPUT = "xcp_output";
    static final String XCP_SLOTS = "xcp_slots";
    /** Tables of an edge that a star writes. */
    public static final List<String> OF_EDGES = List.of(EDGE_PARAMS, IPV4_ROUTE, TrafficClass.TABLE, VOQ, VOQ_SHARE, AGGREGATION, TRAIN_QUEUE,
            SLOT_SCHEDULE, SIGNALING, MEMBERSHIP, MEMBER, XCP_PARAMS, XCP_OUTPUT, XCP_SLOTS);
    /** Tables of a core that a star writes. */
    public static final List<String> OF_CORES = List.of(CORE_PARAMS, CROSSBAR);

    /** What a slave keeps clear of guard and slot end: more than T_d is ever off (docs/protocols.md). */
    private static final int SYNC_MARGIN_NS = 1000;

    static final String CORE = "core";
    private static final String BANK = "bank";
    static final String SLOT = "slot";
    static final String INPUT = "input";
    static final String PORT = "port";
    private static final int ONLY_CLASS = 0;
    private static final int IPV4_BITS = 32;
    private static final int Q16 = 16;
    static final String QUEUE = "queue";
    private static final int WIRE_OVERHEAD_BYTES = EthernetHeader.SIZE + OpticalHeader.SIZE;
    // alpha 0.4, beta 0.226, gamma 0.1 in 1/65536; times as in ns-2.
    private static final int XCP_ALPHA_Q16 = 26214;
    private static final int XCP_BETA_Q16 = 14811;
    private static final int XCP_GAMMA_Q16 = 6554;
    private static final int XCP_INITIAL_RTT_NS = 50_000_000;
    private static final int XCP_MIN_CONTROL_NS = 1_000_000;
    private static final int XCP_MIN_QUEUE_NS = 2_000_000;

    private final Network network;

    /** Takes the network to translate. */
    public SwitchRules(Network network) {
        this.network = network;
    }

    /** What an edge needs whatever the schedule and whoever has joined: parameters, routes, queues, messages. */
    public List<TableEntry> fixedRules(Edge edge) {
        return fixedRules(edge, Set.of());
    }

    /** The same where the master sends no beacon to the slaves {@code withoutBeacon}. */
    public List<TableEntry> fixedRules(Edge edge, Set<EdgeId> withoutBeacon) {
        List<TableEntry> rules = new ArrayList<>();
        rules.add(edgeParams(edge));
        if (!network.isOverlaid()) {
            for (Edge other : network.edges()) {
                addRoutes(rules, edge, other);
                if (other != edge) {
                    rules.add(voq(other).action("enqueue")
                            .param(QUEUE, network.queue(other)).param(PORT, edge.fibre().port()).build());
                    network.trainBytes().ifPresent(bytes -> addTrains(rules, edge, other, bytes));
                }
            }
            rules.addAll(TrafficClass.entries(network.trainClasses()));
        }
        addSignalingMessages(rules, edge, withoutBeacon);
        if (network.byInvitation()) {
            rules.add(membership(edge));
        } else if (network.outOfBand() && edge != network.master()) {
            // It takes beacons from the controller, and none that are light.
            rules.add(inStar(TableEntry.in(MEMBERSHIP)).action("out_of_band").build());
        }
        if (network.xcp()) {
            addXcp(rules, edge);
        }
        return rules;
    }

    /**
     * What the core needs whatever the schedule: its timing, as far as its timestamps can tell. With a tolerance it
     * forgives that much at both ends of a slot, and cannot time single packets: they are taken for points in time.
     */
    public List<TableEntry> fixedRules(Core core) {
        long unitNs = network.timestampUnit().ns();
        long toleranceNs = network.timestampToleranceNs();
        // One core, one time a byte: the fastest fibre's, so that no lawful packet is taken for a collision.
        long rateBps = network.edges().stream().mapToLong(edge -> edge.fibre().rateBps()).max().orElseThrow();
        long timePerByte = toleranceNs > 0 ? 0 : (8_000_000_000L << Q16) / (rateBps * unitNs);
        return List.of(TableEntry.in(CORE_PARAMS).action("set_core_params")
                .param("guard", Math.max(0, network.frame().guardNs() - toleranceNs) / unitNs)
                .param("slot", (network.frame().slotNs() + toleranceNs) / unitNs)
                .param("time_per_byte_q16", timePerByte).build());
    }

    /**
     * An edge's slots of {@code bank}: those for signaling and those that {@code schedule} gives it. With XCP also
     * how many each queue has, for its capacity.
     */
    public List<TableEntry> bankRules(Edge edge, int bank, FrameSchedule schedule) {
        List<TableEntry> rules = signalingRules(edge, bank);
        int input = network.indexOf(edge.id()).orElseThrow();
        int[] granted = new int[network.edges().size()];
        for (int slot = 0; slot < schedule.slots(); slot++) {
            int output = schedule.output(slot, input);
            if (output != FrameSchedule.NONE) {
                rules.add(grant(bank, network.firstDataSlot() + slot, network.queue(network.edges().get(output))));
                granted[output]++;
            }
        }
        for (int output = 0; network.xcp() && output < granted.length; output++) {
            if (granted[output] > 0) {
                rules.add(TableEntry.in(XCP_SLOTS)
                        .exact(BANK, bank).exact(QUEUE, network.queue(network.edges().get(output)))
                        .action("granted").param("slots_a_frame", granted[output]).build());
            }
        }
        return rules;
    }

    /** The core's connections of {@code bank}: those for signaling and those of {@code schedule}. */
    public List<TableEntry> bankRules(Core core, int bank, FrameSchedule schedule) {
        List<TableEntry> rules = signalingRules(core, bank);
        for (int slot = 0; slot < schedule.slots(); slot++) {
            for (int input = 0; input < schedule.edges(); input++) {
                int output = schedule.output(slot, input);
                if (output != FrameSchedule.NONE) {
                    rules.add(connect(bank, network.firstDataSlot() + slot,
                            network.edges().get(input), network.edges().get(output)));
                }
            }
        }
        return rules;
    }

    /** An edge's signaling slots of {@code bank}, if there are any: its own, or at the master those of all slaves. */
    public List<TableEntry> signalingRules(Edge edge, int bank) {
        List<TableEntry> rules = new ArrayList<>();
        if (!network.hasSignalingSlots()) {
            return rules;
        }
        for (Edge slave : slaves()) {
            if (edge == slave || edge == network.master()) {
                rules.add(grant(bank, network.signalingSlot(slave), WireConstants.SIGNALING_QUEUE));
            }
        }
        return rules;
    }

    /** The core's signaling connections of {@code bank}, if there are any: in a slave's slot it and the master hear each other. */
    public List<TableEntry> signalingRules(Core core, int bank) {
        List<TableEntry> rules = new ArrayList<>();
        if (!network.hasSignalingSlots()) {
            return rules;
        }
        for (Edge slave : slaves()) {
            int slot = network.signalingSlot(slave);
            rules.add(connect(bank, slot, slave, network.master()));
            rules.add(connect(bank, slot, network.master(), slave));
        }
        return rules;
    }

    /** Whether the entry belongs to the schedule in {@code bank}, signaling included. */
    public static boolean inBank(TableEntry entry, int bank) {
        return isScheduled(entry) && entry.matchValue(BANK).orElse(-1) == bank;
    }

    /** Whether the entry is a signaling slot's, in either bank. */
    public boolean isSignaling(TableEntry entry) {
        return isScheduled(entry) && entry.matchValue(SLOT).orElse(Integer.MAX_VALUE) < network.firstDataSlot();
    }

    /** Whether the entry belongs to a table that this controller fills and that has no banks. */
    public static boolean isFixed(TableEntry entry) {
        boolean unbanked = List.of(IPV4_ROUTE, TrafficClass.TABLE, VOQ, VOQ_SHARE, AGGREGATION, TRAIN_QUEUE, XCP_OUTPUT, EDGE_PARAMS, MEMBERSHIP)
                .contains(entry.table());
        return unbanked && !entry.isDefault() || isMessage(entry);
    }

    /** Whether the entry says which messages an edge sends in signaling slots, or whom it listens to. */
    public static boolean isMessage(TableEntry entry) {
        return List.of(SIGNALING, MEMBER).contains(entry.table());
    }

    /**
     * All that the master sends in signaling slots and whom it listens to.
     *
     * @param orders by slave's place, of slaves that join by invitation
     * @param withoutBeacon other slaves that get no beacon
     */
    public List<TableEntry> masterMessages(Map<Integer, MemberOrder> orders, Set<EdgeId> withoutBeacon) {
        List<TableEntry> rules = new ArrayList<>();
        addSignalingMessages(rules, network.master(), withoutBeacon);
        rules.addAll(memberRules(orders));
        return rules;
    }

    /** What the master sends to slaves that join by invitation, and whom of them it listens to. */
    public List<TableEntry> memberRules(Map<Integer, MemberOrder> orders) {
        List<TableEntry> rules = new ArrayList<>();
        orders.forEach((slave, order) -> rules.addAll(order.entries(network, network.edges().get(slave))));
        return rules;
    }

    /** The master invites; a slave joins by invitation and tells its faults out of band, as light may be what fails. */
    private TableEntry membership(Edge edge) {
        if (edge == network.master()) {
            return inStar(TableEntry.in(MEMBERSHIP)).action("inviting")
                    .param("own_phase_ns", edge.fibre().delayNs()).build();
        }
        return inStar(TableEntry.in(MEMBERSHIP)).action("by_invitation")
                .param("fault_port", WireConstants.PORT_CPU).param("margin_ns", SYNC_MARGIN_NS)
                .param("out_of_band", network.outOfBand() ? 1 : 0).build();
    }

    /** An only star has the default entry. */
    private TableEntry.Builder inStar(TableEntry.Builder entry) {
        return network.isOverlaid() ? entry.exact(CORE, network.core().id().value()) : entry;
    }

    /** Whether the entry belongs to a schedule in either bank, signaling included. */
    public static boolean isScheduled(TableEntry entry) {
        return List.of(SLOT_SCHEDULE, CROSSBAR, XCP_SLOTS).contains(entry.table());
    }

    private TableEntry edgeParams(Edge edge) {
        return inStar(TableEntry.in(EDGE_PARAMS)).action("set_edge_params")
                .param("edge_id", edge.id().value())
                .param("is_master", edge == network.master() ? 1 : 0)
                .param("master", network.master().id().value())
                .param("mac", edge.mac().value())
                .param("guard_ns", network.frame().guardNs())
                .param("slot_ns", network.frame().slotNs())
                .param("beacon_hold_frames", network.beaconHoldFrames()).build();
    }

    /** Every VOQ has the capacity of its slots, or the one that is fixed for all; intervals are whole frames. */
    private void addXcp(List<TableEntry> rules, Edge edge) {
        rules.add(TableEntry.in(XCP_PARAMS).action("set_xcp_params")
                .param("alpha_q16", XCP_ALPHA_Q16).param("beta_q16", XCP_BETA_Q16).param("gamma_q16", XCP_GAMMA_Q16)
                .param("initial_rtt_ns", XCP_INITIAL_RTT_NS).param("min_control_ns", XCP_MIN_CONTROL_NS)
                .param("min_queue_ns", XCP_MIN_QUEUE_NS)
                .param("quantum_ns", network.frame().slots() * network.frame().slotNs()).build());
        for (Edge other : network.edges()) {
            if (other != edge) {
                boolean fixed = network.xcpBps().isPresent();
                rules.add(TableEntry.in(XCP_OUTPUT).exact(QUEUE, network.queue(other))
                        .action(fixed ? "fixed_capacity" : "slot_capacity")
                        .param("throughput", fixed ? network.xcpThroughput() : network.slotThroughput(edge))
                        .param("overhead", WIRE_OVERHEAD_BYTES).build());
            }
        }
    }

    static void addRoutes(List<TableEntry> rules, Edge at, Edge home) {
        home.hosts().forEach(host -> rules.add(route(at, home, host)));
    }

    /** Packets of a queue become trains, those of each class by themselves; all for an edge wait in its VOQ. */
    private void addTrains(List<TableEntry> rules, Edge edge, Edge other, long sizeBytes) {
        addTrains(rules, network.queue(other), network.queue(other), sizeBytes);
        for (TrafficClass each : network.trainClasses()) {
            int queue = network.trainQueue(other, each.number());
            rules.add(TableEntry.in(VOQ).exact("dst_edge", other.id().value()).exact("class", each.number()).action("enqueue")
                    .param(QUEUE, queue).param(PORT, edge.fibre().port()).build());
            addTrains(rules, queue, network.queue(other), sizeBytes);
        }
    }

    private static void addTrains(List<TableEntry> rules, int queue, int voq, long sizeBytes) {
        rules.add(TableEntry.in(AGGREGATION).exact(QUEUE, queue).action("aggregate").param("size_bytes", sizeBytes).build());
        rules.add(TableEntry.in(TRAIN_QUEUE).exact(QUEUE, queue).action("set_star_train").param("voq", voq).build());
    }

    static TableEntry.Builder voq(Edge destination) {
        return TableEntry.in(VOQ).exact("dst_edge", destination.id().value()).exact("class", ONLY_CLASS);
    }

    private static TableEntry route(Edge at, Edge home, Host host) {
        TableEntry.Builder route = TableEntry.in(IPV4_ROUTE).match(Match.lpm("dst", host.ip().value(), IPV4_BITS));
        if (home == at) {
            return route.action("to_host").param(PORT, host.port()).param("mac", host.mac().value()).build();
        }
        return route.action("to_edge").param("edge", home.id().value()).build();
    }

    /** The tick with {@code repeat} r of a signaling slot sends the r-th message: beacons first, then requests. */
    private void addSignalingMessages(List<TableEntry> rules, Edge edge, Set<EdgeId> withoutBeacon) {
        if (network.outOfBand()) {
            rules.addAll(OutOfBandRules.messages(network, edge, withoutBeacon));
            return;
        }
        int port = edge.fibre().port();
        int slot = network.signalingSlot(edge);
        int firstRequest = 1;
        int requestPort = port;
        if (edge == network.master()) {
            rules.add(beacon(0, 1, edge, WireConstants.PORT_CORE_CONTROL));
            for (Edge slave : network.byInvitation() ? List.<Edge>of() : slaves()) {
                if (!withoutBeacon.contains(slave.id())) {
                    int at = network.signalingSlot(slave);
                    rules.add(beacon(at, firstMessage(at), slave, port));
                }
            }
            firstRequest = firstMessage(slot);
            requestPort = WireConstants.PORT_CPU;
        }
        if (network.byInvitation() && edge != network.master()) {
            rules.add(signaling().exact(SLOT, slot).exact("repeat", firstRequest)
                    .action("send_sync").param("edge", network.master().id().value()).param(PORT, port).build());
            firstRequest++;
        }
        for (int block = 0; block < network.requestBlocks(); block++) {
            rules.add(request(signaling().exact(SLOT, slot).exact("repeat", firstRequest + block),
                    network.firstRequestBlock() + block, requestPort));
        }
    }

    private TableEntry request(TableEntry.Builder entry, int block, int port) {
        entry.param("block", block).param(PORT, port);
        int interval = network.frame().requestIntervalFrames();
        if (interval == 1) {
            return entry.action("send_request").build();
        }
        return entry.action("send_request_every").param("mask", interval - 1).build();
    }

    /** In slot 0 the master's first tick is the core's beacon. */
    private static int firstMessage(int slot) {
        return slot == 0 ? 2 : 1;
    }

    /** The tick of an edge's first message that is light: out of band it comes behind what is said in slot 0. */
    static int firstLight(Network network, Edge edge, int slot) {
        if (network.outOfBand()) {
            return slot == 0 ? OutOfBandRules.messages(network, edge) + 1 : 1;
        }
        return edge == network.master() ? firstMessage(slot) : 1;
    }

    private TableEntry.Builder signaling() {
        return TableEntry.in(SIGNALING).exact(CORE, network.core().id().value());
    }

    private TableEntry beacon(int slot, int repeat, Edge to, int port) {
        return signaling().exact(SLOT, slot).exact("repeat", repeat)
                .action("send_commit").param("edge", to.id().value()).param(PORT, port).build();
    }

    private TableEntry grant(int bank, int slot, int queue) {
        return TableEntry.in(SLOT_SCHEDULE)
                .exact(CORE, network.core().id().value()).exact(BANK, bank).exact(SLOT, slot)
                .action("grant").param(QUEUE, queue).build();
    }

    /** Of edges that share a port one sends in a slot, and one receives, so no two entries of a slot have the same port. */
    private TableEntry connect(int bank, int slot, Edge from, Edge to) {
        return TableEntry.in(CROSSBAR).exact(BANK, bank).exact(SLOT, slot).exact(INPUT, corePort(network, from))
                .action("connect").param(PORT, corePort(network, to)).build();
    }

    static int corePort(Network star, Edge edge) {
        return WireConstants.PORT_OPTICAL_BASE + edge.corePort(star.core().id());
    }

    private List<Edge> slaves() {
        List<Edge> slaves = new ArrayList<>(network.edges());
        slaves.remove(network.master());
        return slaves;
    }
}

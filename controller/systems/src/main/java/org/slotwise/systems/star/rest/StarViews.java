// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.star.app.Phase;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarSnapshot;
import org.slotwise.systems.star.app.Statistics;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.demand.RequestRefusal;
import org.slotwise.systems.star.membership.Member;
import org.slotwise.systems.star.membership.MemberRefusal;
import org.slotwise.systems.star.membership.MemberState;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Fibre;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.Limits;
import org.slotwise.wire.WireConstants;

/** Views of stars. */
final class StarViews {
    private static final long MAX_WORD = 0xFFFF_FFFFL;
    static final View<EdgeId> EDGE_ID = View.integer(0, EdgeId.MAX).named("EdgeId").of(EdgeId::value);
    static final View<CoreId> CORE_ID = View.integer(0, WireConstants.MAX_CORES - 1).named("CoreId").of(CoreId::value);
    static final View<Number> SLOT = View.integer(0, Limits.MAX_SLOTS - 1).named("Slot");
    private static final View<Phase> PHASE = View.oneOf(View::lower, Phase.values()).named("Phase");
    static final View<Optional<? extends Number>> VERSION = View.integer(0, MAX_WORD).orNull()
            .described("Version of the active schedule; null until the edges reported it.").named("Version");
    static final View<Optional<? extends Number>> BANK = View.integer(0, 1).orNull().described("Table bank of that version.").named("Bank");
    static final View.Fields<Snapshot> VERSIONS = View.<Snapshot>object()
            .field("version", VERSION, StarViews::version)
            .field("bank", BANK, StarViews::bank);

    private static final View.Fields<StarSnapshot> STAR = View.<StarSnapshot>object()
            .field("core", CORE_ID, star -> star.state().network().core().id())
            .field("phase", PHASE, star -> star.state().phase())
            .field("live", View.FLAG.described("If true, the star may carry traffic."), StarSnapshot::isLive)
            .field("load_slots", View.COUNT.described("Largest row or column sum of its demand, slots per frame."), StarSnapshot::loadSlots)
            .all(VERSIONS, StarSnapshot::state)
            .field("usable_edges", View.list(EDGE_ID).described("Edges reachable through the star."), StarSnapshot::usableEdges);
    /** State of the controller. */
    static final View.Fields<Snapshot> STATUS = View.<Snapshot>object("Status of the stars")
            .field("phase", PHASE, Snapshot::phase)
            .field("configured", View.FLAG,
                    snapshot -> snapshot.phase() != Phase.WAITING_FOR_DEVICES && snapshot.phase() != Phase.CONFIGURING)
            .field("devices", View.COUNT, snapshot -> snapshot.network().devices().size())
            .field("devices_ready", View.COUNT, snapshot -> snapshot.readyDevices().size())
            .all(VERSIONS, snapshot -> snapshot)
            .field("scheduler", View.TEXT, snapshot -> snapshot.scheduler().title())
            .optional("stars", View.list(STAR).described("Stars of a network with several cores; version and bank of the network are then null."),
                    snapshot -> filled(snapshot.stars()));

    private static final View.Fields<Network> FRAME = View.<Network>object()
            .field("slots", View.COUNT, network -> network.frame().slots())
            .field("slot_ns", View.COUNT, network -> network.frame().slotNs())
            .field("guard_ns", View.COUNT, network -> network.frame().guardNs())
            .field("first_data_slot", SLOT, Network::firstDataSlot);
    private static final View.Fields<Host> HOST = View.<Host>object()
            .field("name", View.TEXT, Host::name)
            .field("ip", View.TEXT, host -> host.ip().toString())
            .field("mac", View.TEXT, host -> host.mac().toString())
            .field("port", View.integer(Limits.MIN_RING_PORT, Limits.MAX_RING_PORT), Host::port);
    private static final View.Fields<Map.Entry<Edge, Fibre>> FIBRE = View.<Map.Entry<Edge, Fibre>>object()
            .field("core", CORE_ID, fibre -> fibre.getValue().core())
            .field("port", View.integer(WireConstants.PORT_OPTICAL_BASE, WireConstants.PORT_OPTICAL_BASE + WireConstants.MAX_FIBRES - 1),
                    fibre -> fibre.getValue().port())
            .field("rate_bps", View.COUNT, fibre -> fibre.getValue().rateBps())
            .field("delay_ns", View.COUNT, fibre -> fibre.getValue().delayNs())
            .field("core_port", View.integer(0, EdgeId.MAX), fibre -> fibre.getKey().corePort(fibre.getValue().core()));
    private static final View.Fields<Edge> EDGE = View.<Edge>object()
            .field("id", EDGE_ID, Edge::id)
            .field("device_id", Ports.ID, Edge::device)
            .field("mac", View.TEXT, edge -> edge.mac().toString())
            .field("hosts", View.list(HOST), Edge::hosts)
            .field("fibres", View.list(FIBRE), edge -> edge.fibres().stream().map(fibre -> Map.entry(edge, fibre)).collect(Collectors.toList()));
    private static final View.Fields<Core> CORE = View.<Core>object()
            .field("id", CORE_ID, Core::id)
            .field("master", EDGE_ID, Core::master)
            .field("device_id", Ports.ID, Core::device);
    /** Cores, edges, hosts, fibres, and the frame. */
    static final View.Fields<Snapshot> TOPOLOGY = View.<Snapshot>object("Cores, edges, hosts, fibres and frame structure")
            .field("frame", FRAME, Snapshot::network)
            .field("mtu", View.COUNT, snapshot -> snapshot.network().mtu())
            .field("beacon_hold_frames", View.COUNT, snapshot -> snapshot.network().beaconHoldFrames())
            .field("cores", View.list(CORE), snapshot -> snapshot.network().cores())
            .field("edges", View.list(EDGE), snapshot -> snapshot.network().edges());

    private static final View.Fields<Place> PLACE = View.<Place>object()
            .field("master", View.FLAG, Place::isMaster)
            .field("signaling_slot", SLOT, Place::signalingSlot)
            .field("slot_payload_bytes", View.COUNT, Place::slotPayloadBytes);
    private static final View.Fields<Switch> NODE = View.<Switch>object()
            .field("kind", View.oneOf(Switch.CORE, Switch.EDGE), node -> node.kind)
            .field("id", View.integer(0, EdgeId.MAX), node -> node.id)
            .field("device_id", Ports.ID, node -> node.device)
            .field("ready", View.FLAG, node -> node.isReady)
            .optional("master", View.FLAG.described("If true, the edge is a master; edges only."), node -> node.place.map(Place::isMaster))
            .optional("signaling_slot", SLOT.described("Signaling slot of an edge; edges only."), node -> node.place.map(Place::signalingSlot))
            .optional("slot_payload_bytes", View.COUNT.described("Payload of a slot, bytes; edges only."), node -> node.place.map(Place::slotPayloadBytes))
            .optional("stars", View.list(View.<Place>object().field("core", CORE_ID, place -> place.star.core().id()).all(PLACE, place -> place))
                    .described("Edges of a network with several cores only; replaces the three keys above."), node -> filled(node.places));
    /** Switches, and whether they are connected. */
    static final View.Fields<Snapshot> NODES = View.<Snapshot>object("Switches and their connection state")
            .field("nodes", View.list(NODE), StarViews::switches);

    private static final View.Fields<Map.Entry<Optional<CoreId>, Member>> MEMBER = View.<Map.Entry<Optional<CoreId>, Member>>object()
            .field("edge", EDGE_ID, member -> member.getValue().edge())
            .optional("core", CORE_ID, Map.Entry::getKey)
            .all(View.<Member>object()
                    .field("state", View.oneOf(View::lower, MemberState.values()), Member::state)
                    .field("session", View.integer(0, MAX_WORD)
                            .described("Nonce of the invitation that the edge joined by; 0 before the first one."), Member::session)
                    .field("invitations", View.COUNT, Member::invitations)
                    .field("measurements", View.integer(0).described("Measurements of T_d in this session."), Member::measurements)
                    .field("t_d_ns", View.INTEGER.described("Timing advance T_d (clock offset and propagation delay), last measurement."), Member::phaseNs)
                    .field("error_ns", View.INTEGER.described("Last measured T_d minus the T_d that the edge used."), Member::errorNs)
                    .field("largest_error_ns", View.integer(0).described("Largest magnitude of error_ns after the first 16 measurements."),
                            Member::largestErrorNs)
                    .field("faults", View.list(View.oneOf(View::lower, new FaultCode[] {FaultCode.POWER, FaultCode.LOSS_OF_SIGNAL, FaultCode.SYNC_ERROR}))
                            .described("Present faults."), member -> member.faultsSinceNs().keySet()), Map.Entry::getValue);
    /** Membership of edges, their T_d and their faults. */
    static final View.Fields<Snapshot> MEMBERS = View.<Snapshot>object("Membership of edges, their timing advance (T_d) and faults")
            .field("membership", View.oneOf("static", "invitation"), snapshot -> snapshot.network().byInvitation() ? "invitation" : "static")
            .field("members", View.list(MEMBER).described("Member edges of each star (`core`, with several cores only); empty with static membership."),
                    snapshot -> snapshot.states().stream().flatMap(star -> star.members().stream().map(member -> Map.entry(coreOf(snapshot, star), member)))
                            .collect(Collectors.toList()))
            .field("refused", View.counts(MemberRefusal.values()).described("Rejected membership messages, by reason."), Snapshot::memberRefusals);

    private static final View.Fields<Pair> SHARES = View.<Pair>object()
            .field("backlog_bytes", View.COUNT, pair -> pair.star.backlogBytes(pair.from, pair.to))
            .field("arrivals_per_frame_bytes", View.COUNT, pair -> pair.star.arrivalsPerFrame(pair.from, pair.to))
            .field("demand_slots", View.COUNT, pair -> pair.star.demandSlots(pair.from, pair.to))
            .field("granted_slots", View.COUNT, pair -> pair.granted[pair.from][pair.to]);
    private static final View.Fields<Map.Entry<Integer, Pair>> SHARE = View.<Map.Entry<Integer, Pair>>object()
            .field("core", CORE_ID, share -> share.getValue().star.network().core().id())
            .field("parts", View.integer(0, WireConstants.SHARES).described("Hash buckets (of 16) of the pair routed through the star."), Map.Entry::getKey)
            .all(SHARES, Map.Entry::getValue);
    private static final View.Fields<Pair> PAIR = View.<Pair>object()
            .field("from", EDGE_ID, pair -> pair.star.network().edges().get(pair.from).id())
            .field("to", EDGE_ID, pair -> pair.star.network().edges().get(pair.to).id())
            .all(SHARES, pair -> pair)
            .optional("stars", View.list(SHARE).described("Values of each star in a network with several cores; the values above are sums."),
                    pair -> filled(pair.shares()));
    /** Backlog, demand and grants of each pair. */
    static final View.Fields<Snapshot> DEMAND = View.<Snapshot>object("Backlog, demand and grants of each edge pair")
            .field("pairs", View.list(PAIR), StarViews::pairs);

    private static final View.Fields<Map.Entry<String, Long>> SCHEDULER_FRAMES = View.<Map.Entry<String, Long>>object()
            .field("name", View.TEXT, Map.Entry::getKey)
            .field("frames", View.COUNT.described("Frames in which the scheduler was called."), Map.Entry::getValue);
    private static final View.Fields<Map.Entry<String, Statistics.Failures>> SCHEDULER_FAILURES =
            View.<Map.Entry<String, Statistics.Failures>>object()
            .field("name", View.TEXT, Map.Entry::getKey)
            .field("frames", View.COUNT.described("Frames in which the scheduler was called."), failed -> failed.getValue().frames())
            .field("failures", View.COUNT.described("Frames in which the scheduler failed."), failed -> failed.getValue().count())
            .field("first_failure", View.TEXT.described("Reason of the first failure."), failed -> failed.getValue().first())
            .field("last_failure", View.TEXT.described("Reason of the last failure."), failed -> failed.getValue().last());
    private static final View<Statistics.Summary> DISTRIBUTION = View.<Statistics.Summary>object()
            .field("count", View.COUNT, Statistics.Summary::count)
            .field("p50", View.COUNT, Statistics.Summary::p50)
            .field("p99", View.COUNT, Statistics.Summary::p99)
            .field("max", View.COUNT, Statistics.Summary::max).named("Distribution");
    /** Counts and times since the controller started. */
    static final View.Fields<Snapshot> STATISTICS = View.<Snapshot>object("Counters and durations since the controller started")
            .all(counters("frames_scheduled", Counter.FRAMES_SCHEDULED, "frames_unchanged", Counter.FRAMES_UNCHANGED,
                    "devices_lost", Counter.DEVICES_LOST), Snapshot::statistics)
            .optional("scheduler_failures", View.COUNT.described("Frames with a failed scheduler, whose previous schedule stayed active; omitted if 0."),
                    snapshot -> Optional.of(snapshot.statistics().get(Counter.SCHEDULER_FAILURES)).filter(count -> count > 0))
            .optional("failed_schedulers", View.list(SCHEDULER_FAILURES)
                    .described("Schedulers that failed in one frame or more; omitted if there are none."),
                    snapshot -> filled(snapshot.statistics().schedulerFailures().entrySet()))
            .field("schedulers", View.list(SCHEDULER_FRAMES)
                    .described("Schedulers called since the controller started, also those that never failed."),
                    snapshot -> snapshot.statistics().schedulerFrames().entrySet())
            .all(durations(), Snapshot::statistics)
            .field("commits", counters("sent", Counter.COMMITS_SENT, "repeated", Counter.COMMITS_REPEATED, "completed", Counter.COMMITS_COMPLETED),
                    Snapshot::statistics)
            .field("writes", counters("batches", Counter.WRITE_BATCHES, "updates", Counter.WRITE_UPDATES, "failures", Counter.WRITE_FAILURES),
                    Snapshot::statistics)
            .field("requests", View.<Statistics>object()
                    .field("received", View.COUNT, statistics -> statistics.get(Counter.REQUESTS_RECEIVED))
                    .field("refused", View.counts(RequestRefusal.values()).described("Rejected requests, by reason."), Statistics::refusals),
                    Snapshot::statistics);

    private StarViews() {
    }

    private static View.Fields<Statistics> counters(String first, Counter of, String second, Counter ofSecond, String third, Counter ofThird) {
        return View.<Statistics>object().field(first, View.COUNT, statistics -> statistics.get(of))
                .field(second, View.COUNT, statistics -> statistics.get(ofSecond))
                .field(third, View.COUNT, statistics -> statistics.get(ofThird));
    }

    private static View.Fields<Statistics> durations() {
        View.Fields<Statistics> all = View.object();
        for (Statistics.Duration duration : Statistics.Duration.values()) {
            all.field(View.lower(duration), DISTRIBUTION.described(duration.help()), statistics -> statistics.get(duration));
        }
        return all;
    }

    static Optional<Long> version(Snapshot star) {
        return star.version().map(Version::value);
    }

    static Optional<Integer> bank(Snapshot star) {
        return star.version().map(Version::bank);
    }

    private static <C extends Iterable<?>> Optional<C> filled(C all) {
        return Optional.of(all).filter(some -> some.iterator().hasNext());
    }

    /** Returns the core that tells stars apart; empty for an only star. */
    static Optional<CoreId> coreOf(Snapshot whole, Snapshot star) {
        return whole.stars().isEmpty() ? Optional.empty() : Optional.of(star.network().core().id());
    }

    /** Place of an edge in a star. */
    private static final class Place {
        private final Network star;
        private final Edge edge;

        Place(Network star, Edge edge) {
            this.star = star;
            this.edge = edge;
        }

        boolean isMaster() {
            return edge == star.master();
        }

        int signalingSlot() {
            return star.signalingSlot(edge);
        }

        long slotPayloadBytes() {
            return star.slotPayloadBytes(edge);
        }
    }

    private static final class Switch {
        static final String CORE = "core";
        static final String EDGE = "edge";
        private final String kind;
        private final int id;
        private final DeviceId device;
        private final boolean isReady;
        private final Optional<Place> place;
        private final List<Place> places = new ArrayList<>();

        Switch(Snapshot snapshot, Core core) {
            this.kind = CORE;
            this.id = core.id().value();
            this.device = core.device();
            this.isReady = snapshot.readyDevices().contains(device);
            this.place = Optional.empty();
        }

        Switch(Snapshot snapshot, Edge edge) {
            this.kind = EDGE;
            this.id = edge.id().value();
            this.device = edge.device();
            this.isReady = snapshot.readyDevices().contains(device);
            this.place = snapshot.stars().isEmpty() ? Optional.of(new Place(snapshot.network(), edge)) : Optional.empty();
            for (StarSnapshot star : snapshot.stars()) {
                Network own = star.state().network();
                own.indexOf(edge.id()).ifPresent(number -> places.add(new Place(own, own.edges().get(number))));
            }
        }
    }

    private static List<Switch> switches(Snapshot snapshot) {
        List<Switch> switches = new ArrayList<>();
        snapshot.network().cores().forEach(core -> switches.add(new Switch(snapshot, core)));
        snapshot.network().edges().forEach(edge -> switches.add(new Switch(snapshot, edge)));
        return switches;
    }

    /** Two edges of a star, or of all. */
    private static final class Pair {
        private final Snapshot star;
        private final int[][] granted;
        private final int from;
        private final int to;

        Pair(Snapshot star, int[][] granted, int from, int to) {
            this.star = star;
            this.granted = granted;
            this.from = from;
            this.to = to;
        }

        /** Shares of each star, by hash buckets; empty for an only star. */
        List<Map.Entry<Integer, Pair>> shares() {
            List<Map.Entry<Integer, Pair>> shares = new ArrayList<>();
            List<Edge> edges = star.network().edges();
            for (int number = 0; number < star.stars().size(); number++) {
                Snapshot state = star.stars().get(number).state();
                OptionalInt i = state.network().indexOf(edges.get(from).id());
                OptionalInt j = state.network().indexOf(edges.get(to).id());
                if (i.isPresent() && j.isPresent()) {
                    shares.add(Map.entry(star.parts(from, to, number), new Pair(state, state.grantedSlots(), i.getAsInt(), j.getAsInt())));
                }
            }
            return shares;
        }
    }

    private static List<Pair> pairs(Snapshot snapshot) {
        int[][] granted = snapshot.grantedSlots();
        return IntStream.range(0, granted.length).boxed().flatMap(from -> IntStream.range(0, granted.length).filter(to -> to != from)
                .mapToObj(to -> new Pair(snapshot, granted, from, to))).collect(Collectors.toList());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.membership.Member;
import org.slotwise.systems.star.membership.MemberRefusal;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.SchedulerKind;

/** The controller's state at one moment, for showing. Immutable. */
public final class Snapshot {
    private final Network network;
    private final Phase phase;
    private final Set<DeviceId> readyDevices;
    private final Version version;
    private final FrameSchedule schedule;
    private final long[][] backlogBytes;
    private final long[][] arrivalsPerFrame;
    private final int[][] demandSlots;
    private final int[][] grantedSlots;
    private final SchedulerKind scheduler;
    private final Map<String, String> schedulerSettings;
    private final Statistics statistics;
    private final List<Member> members;
    private final Map<MemberRefusal, Long> memberRefusals;
    private final boolean shutDown;
    private final List<StarSnapshot> stars;
    private final int[][][] parts;

    Snapshot(Network network, Phase phase, Set<DeviceId> readyDevices, Version version, FrameSchedule schedule,
            long[][] backlogBytes, long[][] arrivalsPerFrame, int[][] demandSlots, SchedulerKind scheduler,
            Map<String, String> schedulerSettings, Statistics statistics, List<Member> members,
            Map<MemberRefusal, Long> memberRefusals, boolean shutDown) {
        this(network, phase, readyDevices, version, schedule, backlogBytes, arrivalsPerFrame, demandSlots, scheduler,
                schedulerSettings, statistics, members, memberRefusals, shutDown, List.of(), new int[0][0][]);
    }

    private Snapshot(Network network, Phase phase, Set<DeviceId> readyDevices, Version version, FrameSchedule schedule,
            long[][] backlogBytes, long[][] arrivalsPerFrame, int[][] demandSlots, SchedulerKind scheduler,
            Map<String, String> schedulerSettings, Statistics statistics, List<Member> members,
            Map<MemberRefusal, Long> memberRefusals, boolean shutDown, List<StarSnapshot> stars, int[][][] parts) {
        this.network = network;
        this.phase = phase;
        this.readyDevices = Set.copyOf(readyDevices);
        this.version = version;
        this.schedule = schedule;
        this.backlogBytes = backlogBytes;
        this.arrivalsPerFrame = arrivalsPerFrame;
        this.demandSlots = demandSlots;
        this.grantedSlots = stars.isEmpty() ? schedule.service() : grantedIn(network, stars);
        this.scheduler = scheduler;
        this.schedulerSettings = Map.copyOf(schedulerSettings);
        this.statistics = statistics;
        this.members = List.copyOf(members);
        this.memberRefusals = Map.copyOf(memberRefusals);
        this.shutDown = shutDown;
        this.stars = List.copyOf(stars);
        this.parts = parts;
    }

    /** Of all stars: sums over them, the phase of the one that is least far, and no schedule, as each has its own. */
    static Snapshot overlaid(Network network, List<StarSnapshot> stars, int[][][] parts) {
        int edges = network.edges().size();
        long[][] backlog = new long[edges][edges];
        long[][] arrivals = new long[edges][edges];
        int[][] demand = new int[edges][edges];
        Set<DeviceId> ready = new HashSet<>();
        Map<MemberRefusal, Long> refusals = new EnumMap<>(MemberRefusal.class);
        Phase phase = Phase.COMMITTING;
        for (StarSnapshot star : stars) {
            Snapshot state = star.state();
            phase = state.phase().compareTo(phase) < 0 ? state.phase() : phase;
            ready.addAll(state.readyDevices());
            state.memberRefusals().forEach((reason, count) -> refusals.merge(reason, count, Long::sum));
            for (int i = 0; i < state.network.edges().size(); i++) {
                int from = network.indexOf(state.network.edges().get(i).id()).orElseThrow();
                for (int j = 0; j < state.network.edges().size(); j++) {
                    int to = network.indexOf(state.network.edges().get(j).id()).orElseThrow();
                    backlog[from][to] += state.backlogBytes(i, j);
                    arrivals[from][to] += state.arrivalsPerFrame(i, j);
                    demand[from][to] += state.demandSlots(i, j);
                }
            }
        }
        Snapshot first = stars.get(0).state();
        return new Snapshot(network, phase, ready, null, FrameSchedule.empty(edges, network.dataSlots()), backlog,
                arrivals, demand, first.scheduler, first.schedulerSettings, first.statistics, List.of(), refusals,
                false, stars, parts);
    }

    private static int[][] grantedIn(Network network, List<StarSnapshot> stars) {
        int[][] granted = new int[network.edges().size()][network.edges().size()];
        for (StarSnapshot star : stars) {
            Snapshot state = star.state();
            for (int i = 0; i < state.grantedSlots.length; i++) {
                int from = network.indexOf(state.network.edges().get(i).id()).orElseThrow();
                for (int j = 0; j < state.grantedSlots.length; j++) {
                    granted[from][network.indexOf(state.network.edges().get(j).id()).orElseThrow()]
                            += state.grantedSlots[i][j];
                }
            }
        }
        return granted;
    }

    /** Slots of a frame by (sender, receiver) in the schedules in force, over all stars. */
    public int[][] grantedSlots() {
        return grantedSlots;
    }

    /** Whether a star's master is shut down; of several stars each says for itself. */
    public boolean isShutDown() {
        return shutDown;
    }

    /** The state of each star; of one star, this. */
    public List<Snapshot> states() {
        return stars.isEmpty() ? List.of(this) : stars.stream().map(StarSnapshot::state).collect(Collectors.toList());
    }

    /** The overlaid stars, ordered by core; empty if this is of one star. */
    public List<StarSnapshot> stars() {
        return stars;
    }

    /** Parts of what one edge has for another, of SHARES, that go by the star at place {@code star}. */
    public int parts(int sender, int receiver, int star) {
        return parts[sender][receiver][star];
    }

    /** The network. */
    public Network network() {
        return network;
    }

    /** What the controller is at. */
    public Phase phase() {
        return phase;
    }

    /** Switches that are there. */
    public Set<DeviceId> readyDevices() {
        return readyDevices;
    }

    /** Version of the schedule in force; empty until the edges said. */
    public Optional<Version> version() {
        return Optional.ofNullable(version);
    }

    /** The schedule in force; nothing is connected until the edges said. */
    public FrameSchedule schedule() {
        return schedule;
    }

    /** Bytes waiting by (sender, receiver). */
    public long backlogBytes(int sender, int receiver) {
        return backlogBytes[sender][receiver];
    }

    /** Bytes that come each frame by (sender, receiver), smoothed. */
    public long arrivalsPerFrame(int sender, int receiver) {
        return arrivalsPerFrame[sender][receiver];
    }

    /** Slots wanted a frame by (sender, receiver), as of the last schedule computed. */
    public int demandSlots(int sender, int receiver) {
        return demandSlots[sender][receiver];
    }

    /** The scheduler in use. */
    public SchedulerKind scheduler() {
        return scheduler;
    }

    /** Its settings, all of them. */
    public Map<String, String> schedulerSettings() {
        return schedulerSettings;
    }

    /** Counts and times. */
    public Statistics statistics() {
        return statistics;
    }

    /** Slaves that join by invitation; none if membership is static. */
    public List<Member> members() {
        return members;
    }

    /** Messages about membership that were not taken, by reason. */
    public Map<MemberRefusal, Long> memberRefusals() {
        return memberRefusals;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.slotwise.core.membership.Member;
import org.slotwise.core.membership.MemberRefusal;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Network;
import org.slotwise.core.network.Version;
import org.slotwise.core.schedule.FrameSchedule;
import org.slotwise.core.schedule.SchedulerKind;

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
    private final SchedulerKind scheduler;
    private final Map<String, String> schedulerSettings;
    private final Statistics statistics;
    private final List<Member> members;
    private final Map<MemberRefusal, Long> memberRefusals;

    Snapshot(Network network, Phase phase, Set<DeviceId> readyDevices, Version version, FrameSchedule schedule,
            long[][] backlogBytes, long[][] arrivalsPerFrame, int[][] demandSlots, SchedulerKind scheduler,
            Map<String, String> schedulerSettings, Statistics statistics, List<Member> members,
            Map<MemberRefusal, Long> memberRefusals) {
        this.network = network;
        this.phase = phase;
        this.readyDevices = Set.copyOf(readyDevices);
        this.version = version;
        this.schedule = schedule;
        this.backlogBytes = backlogBytes;
        this.arrivalsPerFrame = arrivalsPerFrame;
        this.demandSlots = demandSlots;
        this.scheduler = scheduler;
        this.schedulerSettings = Map.copyOf(schedulerSettings);
        this.statistics = statistics;
        this.members = List.copyOf(members);
        this.memberRefusals = Map.copyOf(memberRefusals);
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongSupplier;
import org.slotwise.core.Statistics.Counter;
import org.slotwise.core.Statistics.Duration;
import org.slotwise.core.demand.DemandTracker;
import org.slotwise.core.demand.FrameNumber;
import org.slotwise.core.demand.Request;
import org.slotwise.core.demand.RequestReader;
import org.slotwise.core.demand.RequestRefusal;
import org.slotwise.core.membership.Membership;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.network.Version;
import org.slotwise.core.schedule.FrameSchedule;
import org.slotwise.core.schedule.Scheduler;
import org.slotwise.core.schedule.SchedulerKind;
import org.slotwise.core.tables.SwitchRules;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;

/**
 * The controller as a pure state machine: {@link #onEvent} takes what happened and returns what to do. It reads no
 * clock (the stopwatch only measures), opens no socket and starts no thread; one thread at a time may call it.
 *
 * <p>The schedule changes in two phases: the idle bank of every switch is written, and when all have acknowledged,
 * the master is told to commit. The bank in force is never written, and a bank is reused only when every edge has
 * reported the other one in force. After a restart the controller reads the tables and learns from requests what is
 * in force before it writes anything that depends on the schedule.
 */
public final class Controller {
    /** A commit left by a former controller is announced at the next frame's start, so two whole frames show it. */
    private static final int LEARNING_FRAMES = 2;
    /** A commit is announced within a frame or two, so after this many it was lost. */
    private static final int COMMIT_PATIENCE_FRAMES = 4;

    private final Network network;
    private final LongSupplier stopwatchNs;
    private final SwitchRules rules;
    private final RequestReader reader;
    private final DemandTracker demand;
    private final EdgeReports reports;
    private final RequestCollection collection;
    private final Membership membership;
    private final BeaconRelay beacons;
    private final Map<DeviceId, DeviceState> devices = new LinkedHashMap<>();
    private final List<List<DeviceState>> configurationStages = new ArrayList<>();
    private final Statistics.Recorder statistics = new Statistics.Recorder();

    private SchedulerKind schedulerKind;
    private Map<String, String> schedulerSettings;
    private Scheduler scheduler;

    private Phase phase = Phase.WAITING_FOR_DEVICES;
    private int configurationStage;
    private boolean configured;
    /** Frame of the master's first request in LEARNING; null before. */
    private Long learningSince;
    private Version activeVersion;
    private FrameSchedule active;
    private FrameSchedule staged;
    private long stagedNs;
    private long stagedFrame;
    private long commitFrame;
    private int[][] demandSlots;
    private long lastBatch;
    private List<Command> commands = new ArrayList<>();

    /**
     * Takes the network, the scheduler to begin with, and a stopwatch in ns that is read before and after each
     * computation of a schedule, for statistics only.
     */
    public Controller(Network network, Event.SchedulerChosen scheduler, LongSupplier stopwatchNs) {
        this.network = network;
        this.stopwatchNs = stopwatchNs;
        this.rules = new SwitchRules(network);
        this.reader = new RequestReader(network);
        this.demand = new DemandTracker(network);
        this.reports = new EdgeReports(network);
        this.collection = new RequestCollection(network);
        this.membership = new Membership(network);
        this.beacons = new BeaconRelay(network);
        int edges = network.edges().size();
        this.active = FrameSchedule.empty(edges, network.dataSlots());
        this.demandSlots = new int[edges][edges];
        choose(scheduler);

        List<DeviceState> slaves = new ArrayList<>();
        configurationStages.add(List.of(addDevice(network.core().device())));
        configurationStages.add(List.of(addDevice(network.master().device())));
        for (Edge edge : network.edges()) {
            if (edge != network.master()) {
                slaves.add(addDevice(edge.device()));
            }
        }
        configurationStages.add(slaves);
    }

    private DeviceState addDevice(DeviceId id) {
        DeviceState device = new DeviceState(id);
        devices.put(id, device);
        return device;
    }

    /** Takes an event that happened at {@code nowNs}, which never goes back, and returns what to do, in order. */
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.PacketIn) {
            onPacketIn(nowNs, (Event.PacketIn) event);
        } else if (event instanceof Event.WriteDone) {
            Event.WriteDone done = (Event.WriteDone) event;
            onWriteDone(nowNs, device(done.device()), done.batch());
        } else if (event instanceof Event.WriteFailed) {
            Event.WriteFailed failed = (Event.WriteFailed) event;
            onWriteFailed(device(failed.device()), failed.batch());
        } else if (event instanceof Event.DeviceReady) {
            Event.DeviceReady ready = (Event.DeviceReady) event;
            device(ready.device()).becomeReady(ready.entries());
            if (ready.device().equals(network.master().device())) {
                membership.adopt(nowNs, ready.entries());
            }
            waitForDevices();
        } else if (event instanceof Event.DeviceLost) {
            onDeviceLost(((Event.DeviceLost) event).device());
        } else if (event instanceof Event.SchedulerChosen) {
            choose((Event.SchedulerChosen) event);
        }
        if (collection.isDue(nowNs, this::isSilent)) {
            collection.close();
            scheduleFrame(nowNs);
        }
        membership.onTime(nowNs);
        orderMembers();
        return commands;
    }

    /** When {@link Event.DeadlineReached} is wanted if nothing else happens. */
    public OptionalLong nextDeadlineNs() {
        OptionalLong requests = collection.deadlineNs();
        OptionalLong members = membership.deadlineNs();
        if (requests.isEmpty() || members.isEmpty()) {
            return requests.isPresent() ? requests : members;
        }
        return OptionalLong.of(Math.min(requests.getAsLong(), members.getAsLong()));
    }

    /** Whether all switches have had all rules that do not depend on the schedule, at least once. */
    public boolean isConfigured() {
        return configured;
    }

    /** What is known now. */
    public Snapshot snapshot() {
        Set<DeviceId> ready = new HashSet<>();
        devices.values().stream().filter(DeviceState::isReady).forEach(device -> ready.add(device.id()));
        return new Snapshot(network, phase, ready, activeVersion, active, demand.backlogBytes(),
                demand.arrivalsPerFrame(), demandSlots, schedulerKind, schedulerSettings, statistics.snapshot(),
                membership.members(), membership.refusals());
    }

    private void choose(Event.SchedulerChosen choice) {
        schedulerKind = choice.kind();
        schedulerSettings = choice.settings();
        scheduler = schedulerKind.create(schedulerSettings);
        demand.use(SchedulerKind.estimator(schedulerSettings));
    }

    private DeviceState device(DeviceId id) {
        DeviceState device = devices.get(id);
        if (device == null) {
            throw new IllegalArgumentException("device " + id + " is not in this network");
        }
        return device;
    }

    // ---- switches come and go ----

    private void onDeviceLost(DeviceId id) {
        device(id).becomeLost();
        statistics.count(Counter.DEVICES_LOST);
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (network.edges().get(edge).device().equals(id)) {
                reports.forget(edge);
                demand.forget(edge);
            }
        }
        if (id.equals(network.master().device())) {
            collection.reset();
            beacons.reset();
        }
        waitForDevices();
    }

    private void onWriteFailed(DeviceState device, long batch) {
        if (device.isPending(batch)) {
            statistics.count(Counter.WRITE_FAILURES);
            device.becomeLost();
            commands.add(new Command.ReadTables(device.id()));
            waitForDevices();
        }
    }

    private void onWriteDone(long nowNs, DeviceState device, long batch) {
        if (!device.finishWrite(batch)) {
            return;
        }
        if (phase == Phase.WAITING_FOR_DEVICES) {
            waitForDevices();
        } else if (phase == Phase.CONFIGURING && allSettled()) {
            configurationStage++;
            configureStage();
        } else if (phase == Phase.WRITING && allSettled()) {
            commit(nowNs);
        }
    }

    private void waitForDevices() {
        phase = Phase.WAITING_FOR_DEVICES;
        if (allSettled()) {
            phase = Phase.CONFIGURING;
            configurationStage = 0;
            configureStage();
        }
    }

    private boolean allSettled() {
        return devices.values().stream().allMatch(DeviceState::isSettled);
    }

    /** Core first: light must find its connection before any edge sends a request. */
    private void configureStage() {
        while (configurationStage < configurationStages.size()) {
            for (DeviceState device : configurationStages.get(configurationStage)) {
                write(device, configurationUpdates(device));
            }
            if (!allSettled()) {
                return;
            }
            configurationStage++;
        }
        configured = true;
        learn();
    }

    /** Data slots of both banks stay as they are: one of them may be in force. */
    private List<Update> configurationUpdates(DeviceState device) {
        List<TableEntry> desired = new ArrayList<>();
        if (device.id().equals(network.core().device())) {
            desired.addAll(rules.fixedRules(network.core()));
            for (int bank = 0; bank < SwitchRules.BANKS; bank++) {
                desired.addAll(rules.signalingRules(network.core(), bank));
            }
        } else {
            Edge edge = edgeOf(device);
            desired.addAll(rules.fixedRules(edge));
            if (edge == network.master()) {
                desired.addAll(rules.memberRules(membership.orders()));
            }
            for (int bank = 0; bank < SwitchRules.BANKS; bank++) {
                desired.addAll(rules.signalingRules(edge, bank));
            }
        }
        return device.tables().changesTo(desired, entry -> SwitchRules.isFixed(entry) || rules.isSignaling(entry));
    }

    private Edge edgeOf(DeviceState device) {
        return network.edges().stream().filter(edge -> edge.device().equals(device.id())).findFirst().orElseThrow();
    }

    private void write(DeviceState device, List<Update> updates) {
        if (!updates.isEmpty()) {
            commands.add(device.startWrite(++lastBatch, updates));
            statistics.count(Counter.WRITE_BATCHES);
            statistics.count(Counter.WRITE_UPDATES, updates.size());
        }
    }

    // ---- who has joined ----

    /** Tells the master what to send to whom; a switch takes one batch at a time, and the schedule's goes first. */
    private void orderMembers() {
        boolean busy = phase == Phase.WAITING_FOR_DEVICES || phase == Phase.CONFIGURING || phase == Phase.WRITING;
        DeviceState master = device(network.master().device());
        if (network.byInvitation() && !busy && master.isSettled()) {
            List<TableEntry> desired = rules.masterMessages(membership.orders());
            write(master, master.tables().changesTo(desired, SwitchRules::isMessage));
        }
    }

    // ---- what is in force ----

    private void onPacketIn(long nowNs, Event.PacketIn packet) {
        if (membership.isRelevant(packet.frame())) {
            membership.onPacket(nowNs, packet.device(), packet.port(), packet.frame());
            return;
        }
        Request request;
        try {
            if (beacons.isBeacon(packet.frame())) {
                commands.add(beacons.handOn(packet.device(), packet.port(), packet.frame()));
                statistics.count(Counter.BEACONS_HANDED_ON);
                return;
            }
            request = reader.read(packet.device(), packet.port(), packet.frame());
        } catch (RequestReader.Refused refused) {
            statistics.refused(refused.reason());
            return;
        }
        if (!reports.take(request)) {
            statistics.refused(RequestRefusal.STALE);
            return;
        }
        statistics.count(Counter.REQUESTS_RECEIVED);
        demand.update(request);
        collection.add(nowNs, request);
        reports.master().ifPresent(master -> membership.masterAt(nowNs, master.frame()));
        reports.master().ifPresent(this::compareWithMaster);
    }

    private void compareWithMaster(Request master) {
        if (phase == Phase.LEARNING) {
            continueLearning(master);
        } else if (phase == Phase.COMMITTING) {
            continueCommit(master);
        } else if (phase == Phase.STEADY
                && !(master.active().equals(activeVersion) && master.next().equals(activeVersion))) {
            learn();
        }
    }

    private void learn() {
        phase = Phase.LEARNING;
        learningSince = null;
        staged = null;
    }

    private void continueLearning(Request master) {
        if (learningSince == null) {
            learningSince = master.frame();
        }
        boolean longEnough = FrameNumber.difference(master.frame(), learningSince) >= inFrames(LEARNING_FRAMES);
        if (longEnough && reports.agreeOn(master.active(), learningSince)) {
            activeVersion = master.active();
            active = rules.scheduleIn(
                    device(network.core().device()).tables().entries(entry -> true), activeVersion.bank());
            phase = Phase.STEADY;
        }
    }

    private void continueCommit(Request master) {
        Version next = activeVersion.next();
        boolean old = master.active().equals(activeVersion);
        boolean announced = master.next().equals(next);
        if (reports.agreeOn(next, learningSince)) {
            activeVersion = next;
            commands.add(new Command.ScheduleInForce(next, staged.differences(active)));
            active = staged;
            staged = null;
            phase = Phase.STEADY;
            statistics.count(Counter.COMMITS_COMPLETED);
            statistics.took(Duration.COMMIT_FRAMES, FrameNumber.difference(master.frame(), stagedFrame));
        } else if (old && master.next().equals(activeVersion)) {
            if (FrameNumber.difference(master.frame(), commitFrame) >= inFrames(COMMIT_PATIENCE_FRAMES)) {
                sendCommit(Counter.COMMITS_REPEATED);
            }
        } else if (!announced) {
            learn();
        }
    }

    /** Out of band a frame may be shorter than the way to the controller and back, but not the beacon hold. */
    private int inFrames(int frames) {
        return network.outOfBand() ? frames + network.beaconHoldFrames() : frames;
    }

    private boolean isSilent(int edge) {
        return learningSince != null && reports.isSilent(edge, learningSince);
    }

    // ---- the next schedule ----

    private void scheduleFrame(long nowNs) {
        if (phase != Phase.STEADY || !allSettled() || !reports.agreeOn(activeVersion, learningSince)) {
            return;
        }
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (isSilent(edge)) {
                demand.forget(edge);
            }
        }
        long startNs = stopwatchNs.getAsLong();
        demandSlots = demand.demandSlots(active);
        FrameSchedule next = scheduler.schedule(demandSlots, active);
        statistics.took(Duration.SCHEDULING_NS, stopwatchNs.getAsLong() - startNs);
        statistics.count(Counter.FRAMES_SCHEDULED);
        if (next.equals(active)) {
            statistics.count(Counter.FRAMES_UNCHANGED);
        } else {
            stage(nowNs, next);
        }
    }

    private void stage(long nowNs, FrameSchedule next) {
        staged = next;
        stagedNs = nowNs;
        stagedFrame = reports.master().orElseThrow().frame();
        int bank = activeVersion.next().bank();
        for (DeviceState device : devices.values()) {
            List<TableEntry> desired = device.id().equals(network.core().device())
                    ? rules.bankRules(network.core(), bank, next)
                    : rules.bankRules(edgeOf(device), bank, next);
            write(device, device.tables().changesTo(desired, entry -> SwitchRules.inBank(entry, bank)));
        }
        phase = Phase.WRITING;
        if (allSettled()) {
            commit(nowNs);
        }
    }

    private void commit(long nowNs) {
        phase = Phase.COMMITTING;
        statistics.took(Duration.WRITING_NS, nowNs - stagedNs);
        sendCommit(Counter.COMMITS_SENT);
    }

    private void sendCommit(Counter counter) {
        commitFrame = reports.master().orElseThrow().frame();
        commands.add(CommitMessage.to(network.core(), network.master(),
                activeVersion.next(), FrameNumber.plus(commitFrame, 1)));
        statistics.count(counter);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.shared.model.SlotsReserved;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.app.Statistics.Duration;
import org.slotwise.systems.star.demand.DemandTracker;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.demand.FrameWindow;
import org.slotwise.systems.star.demand.Request;
import org.slotwise.systems.star.demand.RequestReader;
import org.slotwise.systems.star.membership.Membership;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.tables.MemberOrder;
import org.slotwise.wire.WireConstants;

/**
 * The controller of one star.
 *
 * <p>The schedule changes in two phases: the idle bank of every switch is written, and when all have acknowledged,
 * the master is told to commit. The bank in force is never written, and a bank is reused only when every edge has
 * reported the other one in force, and the core is in the same frame. After a restart the controller reads the tables and learns from requests what is
 * in force before it writes anything that depends on the schedule.
 */
public final class StarController implements NetworkController {
    /** A commit left by a former controller is announced at the next frame's start, so two whole frames show it. */
    private static final int LEARNING_FRAMES = 2;
    /** A commit is announced within a frame or two, so after this many requests it was lost. */
    private static final int COMMIT_PATIENCE_REQUESTS = 4;

    /** No number of changes: the schedule that the core has is not that of the edges. */
    private static final long NEVER_SCHEDULED = -1;

    private final Network network;
    private final LongSupplier stopwatchNs;
    private final DemandTracker demand;
    private final EdgeReports reports;
    private final RequestCollection collection;
    private final Membership membership;
    private final Attendance attendance;
    private final long[] heardNs;
    private final StarSwitches switches;
    private final Statistics.Recorder statistics;
    private final Inbox inbox;
    private final ShutdownOrders shutdownOrders;
    private final ScheduleMaker schedules;

    private State state = new Waiting();
    private boolean configured;
    /** Core or master was lost since the schedule in force was made. */
    private boolean dark;
    /** Frame of the master's first request since the controller learns what is active; null before. */
    private Long learningSince;
    private Active active;
    private int[][] demandSlots;
    private List<Command> commands = new ArrayList<>();

    /**
     * Takes the network, the scheduler to begin with, and a stopwatch in ns that is read before and after each
     * computation of a schedule, for statistics only.
     */
    public StarController(Network network, SchedulerChosen scheduler, LongSupplier stopwatchNs) {
        this(network, scheduler, stopwatchNs, new AtomicLong()::incrementAndGet, new Statistics.Recorder());
    }

    /** One of several stars: numbers of write batches and statistics are common to all of them. */
    StarController(Network network, SchedulerChosen scheduler, LongSupplier stopwatchNs, LongSupplier batches,
            Statistics.Recorder statistics) {
        this.network = network;
        this.statistics = statistics;
        this.stopwatchNs = stopwatchNs;
        this.demand = new DemandTracker(network);
        this.reports = new EdgeReports(network);
        this.collection = new RequestCollection(network);
        this.membership = new Membership(network);
        this.attendance = new Attendance(network);
        this.switches = new StarSwitches(network, attendance, batches, statistics);
        this.heardNs = new long[network.edges().size()];
        this.inbox = new Inbox(network, membership, this::handOn);
        this.shutdownOrders = new ShutdownOrders(network);
        this.schedules = new ScheduleMaker(network, scheduler, statistics, notice -> commands.add(notice));
        int edges = network.edges().size();
        this.active = new Active(null, FrameSchedule.empty(edges, network.dataSlots()), 0);
        this.demandSlots = new int[edges][edges];
        demand.use(SchedulerKind.estimator(scheduler.settings()));
    }

    @Override
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.PacketIn) {
            onPacketIn(nowNs, (Event.PacketIn) event);
        } else if (event instanceof Event.WriteDone) {
            Event.WriteDone done = (Event.WriteDone) event;
            onWriteDone(nowNs, switches.get(done.device()), done.batch());
        } else if (event instanceof Event.WriteFailed) {
            Event.WriteFailed failed = (Event.WriteFailed) event;
            onWriteFailed(switches.get(failed.device()), failed.batch());
        } else if (event instanceof Event.DeviceReady) {
            onDeviceReady(nowNs, (Event.DeviceReady) event);
        } else if (event instanceof Event.DeviceLost) {
            onDeviceLost(((Event.DeviceLost) event).device());
        } else if (event instanceof SchedulerChosen) {
            choose((SchedulerChosen) event);
        } else if (event instanceof SlotsReserved) {
            schedules.reserve(((SlotsReserved) event).slots()).ifPresent(reason -> commands.add(StarApp.slotsRefused(reason)));
        } else if (event instanceof MasterShutdown) {
            onShutdown(nowNs, (MasterShutdown) event);
        }
        if (collection.isDue(nowNs, edge -> !attendance.takesPart(edge) || isSilent(edge))) {
            collection.close();
            scheduleFrame(nowNs);
        }
        membership.onTime(nowNs);
        membership.takeNotices().forEach(notice ->
                commands.add(new Command.PacketOut(notice.edge().device(), WireConstants.PORT_SELF, notice.frame())));
        darken();
        bringBack();
        orderMembers(nowNs);
        reports.master().flatMap(master -> shutdownOrders.at(master.frame())).ifPresent(commands::add);
        return commands;
    }

    @Override
    public OptionalLong nextDeadlineNs() {
        return Stream.of(collection.deadlineNs(), membership.deadlineNs()).flatMapToLong(OptionalLong::stream).min();
    }

    @Override
    public boolean isConfigured() {
        return configured;
    }

    /** Whether core and master are there and configured. */
    boolean isRunning() {
        return state.phase != Phase.WAITING_FOR_DEVICES && state.phase != Phase.CONFIGURING;
    }

    /** Whether the master is shut down. */
    boolean isShutDown() {
        return shutdownOrders.isDown();
    }

    /** Whether schedules count with an edge. */
    boolean takesPart(int edge) {
        return attendance.takesPart(edge);
    }

    /** When the last request of an edge came that has light, ns; 0 before the first one. */
    long heardNs(int edge) {
        return heardNs[edge];
    }

    /** Slots that each pair wanted a frame when the last schedule was computed, by (sender, receiver). */
    int[][] demandSlots() {
        return demandSlots;
    }

    @Override
    public Snapshot snapshot() {
        return new Snapshot(network, state.phase, switches.ready(), active.version, active.schedule, demand.backlogBytes(),
                demand.arrivalsPerFrame(), demandSlots, schedules.kind(), schedules.settings(), statistics.snapshot(),
                membership.members(), membership.refusals(), shutdownOrders.isDown());
    }

    private void choose(SchedulerChosen choice) {
        schedules.choose(choice);
        demand.use(SchedulerKind.estimator(choice.settings()));
    }

    // ---- switches come and go ----

    private void onDeviceReady(long nowNs, Event.DeviceReady ready) {
        DeviceState device = switches.get(ready.device());
        device.becomeReady(ready.entries());
        forgetRequests(device);
        if (ready.device().equals(network.master().device())) {
            membership.adopt(nowNs, ready.entries());
            shutdownOrders.masterIsBack();
        }
        if (device == switches.core()) {
            switches.configure(device, Map.of(), commands);
        }
        if (switches.counts(device)) {
            waitForDevices();
        } else if (attendance.isReturning(device.edge())) {
            attendance.lose(device.edge());
        }
    }

    private void onDeviceLost(DeviceId id) {
        DeviceState device = switches.get(id);
        if (!network.isOverlaid()) {
            statistics.count(Counter.DEVICES_LOST);
        }
        forgetRequests(device);
        if (device.edge() != DeviceState.NO_EDGE) {
            demand.forget(device.edge());
        }
        if (id.equals(network.master().device())) {
            inbox.masterIsLost();
        }
        lose(device);
    }

    /**
     * A switch that is lost, or there again, may count frames anew. Again when it is back: a host may hand on what came of its
     * former life long after it has said that the switch is lost. In-band the master hands on what all edges ask.
     */
    private void forgetRequests(DeviceState device) {
        boolean isMaster = device.id().equals(network.master().device());
        for (int edge = 0; edge < heardNs.length; edge++) {
            if (edge == device.edge() || isMaster && !network.outOfBand()) {
                reports.forget(edge);
            }
        }
        if (isMaster) {
            collection.reset();
        }
    }

    private void onWriteFailed(DeviceState device, long batch) {
        if (device.isPending(batch)) {
            statistics.count(Counter.WRITE_FAILURES);
            commands.add(new Command.ReadTables(device.id()));
            lose(device);
        }
    }

    /** Once all have been there the star goes on without a slave. What was being written lacks it, and is given up. */
    private void lose(DeviceState device) {
        device.becomeLost();
        boolean dispensable = configured && switches.isSlave(device);
        if (dispensable) {
            attendance.lose(device.edge());
        }
        dark |= configured && !dispensable;
        if (!dispensable || !isRunning()) {
            waitForDevices();
        } else {
            state.slaveLost();
        }
    }

    /**
     * A core that comes back has no connections, and a master that comes back tells all to use another version: no edge may use a
     * data slot before a schedule is made anew.
     */
    private void darken() {
        if (dark && state.phase == Phase.WAITING_FOR_DEVICES) {
            switches.darken(commands);
        }
    }

    /** A slave that is back has all but data slots; with a beacon it would use those that it had, in either bank. */
    private void bringBack() {
        for (int edge = 0; isRunning() && !attendance.isWhole() && edge < heardNs.length; edge++) {
            DeviceState device = switches.edge(edge);
            if (attendance.isOut(edge) && device.isSettled()) {
                attendance.bringBack(edge);
                reports.forget(edge);
                switches.configureDark(device, memberOrders(), commands);
            }
            if (attendance.isReturning(edge) && device.isSettled()) {
                attendance.haveWritten(edge);
            }
        }
    }

    private void onWriteDone(long nowNs, DeviceState device, long batch) {
        if (device.finishWrite(batch)) {
            state.written(nowNs);
        }
    }

    private void waitForDevices() {
        state = new Waiting();
        if (switches.areSettled()) {
            Configuring configuring = new Configuring();
            state = configuring;
            configuring.next();
        }
    }

    private void haveConfigured() {
        configured = true;
        if (dark) {
            dark = false;
            active = new Active(active.version, active.schedule, NEVER_SCHEDULED);
        }
        learn();
    }

    // ---- who has joined ----

    /** Tells the master what to send to whom; a switch takes one batch at a time, and the schedule's goes first. */
    private void orderMembers(long nowNs) {
        boolean busy = !isRunning() || state.phase == Phase.WRITING;
        if ((network.byInvitation() || attendance.concernsMaster()) && !busy && switches.master().isSettled()) {
            boolean changed = switches.orderMaster(memberOrders(), commands);
            if (!changed) {
                membership.ordersInForce(nowNs);
            }
            if (!changed && reports.master().isPresent()) {
                attendance.masterObeys(nowNs, reports.master().get().frame());
            }
        }
    }

    private Map<Integer, MemberOrder> memberOrders() {
        Map<Integer, MemberOrder> orders = membership.orders();
        orders.keySet().removeIf(edge -> attendance.withoutBeacon().contains(network.edges().get(edge).id()));
        return orders;
    }

    private void onShutdown(long nowNs, MasterShutdown shutdown) {
        if (!shutdown.core().equals(network.core().id())) {
            throw new IllegalArgumentException("core " + shutdown.core() + " is not in this star");
        }
        shutdownOrders.want(shutdown.isDown());
        if (network.byInvitation()) {
            membership.shutDown(nowNs, shutdown.isDown());
        }
    }

    // ---- what is in force ----

    private void onPacketIn(long nowNs, Event.PacketIn packet) {
        try {
            Optional<Request> request = inbox.read(nowNs, packet);
            if (request.isPresent()) {
                onRequest(nowNs, request.get());
            }
        } catch (RequestReader.Refused refused) {
            statistics.refused(refused.reason());
        }
    }

    private void handOn(Command.PacketOut beacon) {
        commands.add(beacon);
        statistics.count(Counter.BEACONS_HANDED_ON);
    }

    private void onRequest(long nowNs, Request request) throws RequestReader.Refused {
        FrameWindow.Verdict verdict = reports.take(request);
        RequestReader.check(verdict);
        if (verdict == FrameWindow.Verdict.RESTARTED) {
            restartFrames(request);
        }
        statistics.count(Counter.REQUESTS_RECEIVED);
        if (request.hasLight()) {
            heardNs[request.edge()] = nowNs;
        }
        demand.update(request);
        collection.add(nowNs, request);
        reports.master().ifPresent(master -> membership.masterAt(nowNs, master.frame()));
        reports.master().ifPresent(master -> attendance.masterAt(nowNs, master.frame()));
        reports.master().ifPresent(master -> state.master(nowNs, master));
    }

    /** The edge's first request named a wrong frame. */
    private void restartFrames(Request request) {
        collection.reset();
        if (state.phase == Phase.LEARNING && network.edges().get(request.edge()) == network.master()) {
            learningSince = null;
        }
    }

    private void learn() {
        state = new Learning();
        learningSince = null;
    }

    /** Out of band a frame may be shorter than the way to the controller and back, but not the beacon hold. */
    private int inFrames(int frames) {
        return network.outOfBand() ? frames + network.beaconHoldFrames() : frames;
    }

    private boolean isSilent(int edge) {
        return learningSince != null && reports.isSilent(edge, learningSince);
    }

    /** All edges use a schedule. Out of band the core may follow later; it uses the previous bank until then. */
    private void begin(long nowNs, Active next) {
        active = next;
        state = new Steady();
        collection.waitUntil(nowNs + network.coreLagNs());
    }

    // ---- the next schedule ----

    private void scheduleFrame(long nowNs) {
        if (state.phase != Phase.STEADY || !switches.areSettled() || !attendance.isSettled()
                || !reports.agreeOn(active.version, learningSince, attendance::takesPart)) {
            return;
        }
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (isSilent(edge) || !attendance.takesPart(edge)) {
                demand.forget(edge);
            }
        }
        long startNs = stopwatchNs.getAsLong();
        demandSlots = demand.demandSlots(active.schedule);
        FrameSchedule next = schedules.next(demandSlots, active.schedule, attendance::takesPart);
        statistics.took(Duration.SCHEDULING_NS, stopwatchNs.getAsLong() - startNs);
        statistics.count(Counter.FRAMES_SCHEDULED);
        if (next.equals(active.schedule) && attendance.changes() == active.changes) {
            statistics.count(Counter.FRAMES_UNCHANGED);
        } else {
            stage(nowNs, next);
        }
    }

    private void stage(long nowNs, FrameSchedule next) {
        Staged staged = new Staged(next, attendance.changes(), nowNs, reports.master().orElseThrow().frame());
        switches.stage(next, active.version.next().bank(), commands);
        state = new Writing(staged);
        if (switches.areSettled()) {
            commit(nowNs, staged);
        }
    }

    private void commit(long nowNs, Staged staged) {
        state = new Committing(staged);
        statistics.took(Duration.WRITING_NS, nowNs - staged.sinceNs);
        sendCommit(staged, Counter.COMMITS_SENT);
    }

    private void sendCommit(Staged staged, Counter counter) {
        staged.commitFrame = reports.master().orElseThrow().frame();
        commands.add(CommitMessage.to(network.core(), network.master(),
                active.version.next(), FrameNumber.plus(staged.commitFrame, 1)));
        statistics.count(counter);
    }

    // ---- phases ----

    /** Phase, with what belongs to it alone. */
    private abstract static class State {
        private final Phase phase;

        State(Phase phase) {
            this.phase = phase;
        }

        /** Continues after a write of a switch. */
        void written(long nowNs) {
        }

        /** Compares with a request of the master. */
        void master(long nowNs, Request master) {
        }

        /** Gives up what lacks a slave that was lost. */
        void slaveLost() {
        }
    }

    private final class Waiting extends State {
        Waiting() {
            super(Phase.WAITING_FOR_DEVICES);
        }

        @Override
        void written(long nowNs) {
            waitForDevices();
        }
    }

    private final class Configuring extends State {
        private int stage;

        Configuring() {
            super(Phase.CONFIGURING);
        }

        @Override
        void written(long nowNs) {
            if (switches.areSettled()) {
                stage++;
                next();
            }
        }

        /** Writes stage after stage while no switch has to be waited for. */
        private void next() {
            Optional<List<DeviceState>> devices = switches.configurationStage(stage);
            while (devices.isPresent()) {
                for (DeviceState device : devices.get()) {
                    if (switches.counts(device) && dark) {
                        switches.configureDark(device, memberOrders(), commands);
                    } else if (switches.counts(device)) {
                        switches.configure(device, memberOrders(), commands);
                    }
                }
                if (!switches.areSettled()) {
                    return;
                }
                stage++;
                devices = switches.configurationStage(stage);
            }
            haveConfigured();
        }
    }

    private final class Learning extends State {
        Learning() {
            super(Phase.LEARNING);
        }

        @Override
        void master(long nowNs, Request master) {
            if (learningSince == null) {
                learningSince = master.frame();
            }
            boolean longEnough = FrameNumber.difference(master.frame(), learningSince) >= inFrames(LEARNING_FRAMES);
            if (longEnough && reports.agreeOn(master.active(), learningSince, attendance::takesPart)) {
                begin(nowNs, new Active(master.active(), switches.scheduleInCore(master.active().bank()), active.changes));
            }
        }
    }

    private final class Steady extends State {
        Steady() {
            super(Phase.STEADY);
        }

        @Override
        void master(long nowNs, Request master) {
            if (!(master.active().equals(active.version) && master.next().equals(active.version))) {
                learn();
            }
        }
    }

    /** Phase in which another schedule is being activated. */
    private abstract static class Changing extends State {
        final Staged staged;

        Changing(Phase phase, Staged staged) {
            super(phase);
            this.staged = staged;
        }
    }

    private final class Writing extends Changing {
        Writing(Staged staged) {
            super(Phase.WRITING, staged);
        }

        @Override
        void written(long nowNs) {
            if (switches.areSettled()) {
                commit(nowNs, staged);
            }
        }

        @Override
        void slaveLost() {
            state = new Steady();
        }
    }

    private final class Committing extends Changing {
        Committing(Staged staged) {
            super(Phase.COMMITTING, staged);
        }

        @Override
        void master(long nowNs, Request master) {
            Version next = active.version.next();
            boolean old = master.active().equals(active.version);
            if (reports.agreeOn(next, learningSince, attendance::takesPart)) {
                commands.add(new ScheduleInForce(network.core().id(), next, staged.schedule.differences(active.schedule)));
                begin(nowNs, new Active(next, staged.schedule, staged.changes));
                statistics.count(Counter.COMMITS_COMPLETED);
                statistics.took(Duration.COMMIT_FRAMES, FrameNumber.difference(master.frame(), staged.frame));
            } else if (old && master.next().equals(active.version)) {
                int patienceFrames = inFrames(COMMIT_PATIENCE_REQUESTS * network.frame().requestIntervalFrames());
                if (FrameNumber.difference(master.frame(), staged.commitFrame) >= patienceFrames) {
                    sendCommit(staged, Counter.COMMITS_REPEATED);
                }
            } else if (!master.next().equals(next)) {
                learn();
            }
        }
    }
}

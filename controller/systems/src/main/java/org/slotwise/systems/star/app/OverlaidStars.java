// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.shared.model.SlotsReserved;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.tables.OverlayRules;
import org.slotwise.systems.star.tables.SwitchRules;
import org.slotwise.wire.WireConstants;

/**
 * The controller of a network of several cores. Each star has a {@link StarController} of its own, which knows nothing of the
 * others; this one hands events on to them, and owns what belongs to no star: routes, and by which star each part of an
 * edge pair's traffic goes ({@link PathTable}). Once a frame it looks which stars are well and how loaded they are.
 */
public final class OverlaidStars implements NetworkController {
    /** An edge whose request has not come for so many frames is not reached through a star, nor is anyone without its master. */
    static final int SILENT_FRAMES = 8;
    /** Traffic returns to what has been well for so many frames. */
    static final int WELL_FRAMES = 16;
    /** Frames between two times that loads are evened out: what moved must show in requests first. */
    private static final int BALANCE_FRAMES = 16;

    private final Network network;
    private final List<Star> stars = new ArrayList<>();
    private final Map<DeviceId, List<Star>> starsOf = new LinkedHashMap<>();
    private final Map<DeviceId, EdgeRoutes> routes = new LinkedHashMap<>();
    private final OverlayRules rules;
    private final PathTable paths;
    private final AtomicLong lastBatch = new AtomicLong();
    private final Statistics.Recorder statistics = new Statistics.Recorder();
    /** By star and edge. */
    private final boolean[][] usable;
    private final int[][] framesWell;

    private boolean configured;
    private OptionalLong firstReviewNs = OptionalLong.empty();
    private long reviewNs;
    private int framesToBalance = BALANCE_FRAMES;
    private List<Command> commands = new ArrayList<>();

    private static final class Star {
        private final Network network;
        private final StarController controller;
        /** Place in the whole network by place in the star. */
        private final int[] places;

        Star(Network network, StarController controller, int[] places) {
            this.network = network;
            this.controller = controller;
            this.places = places;
        }
    }

    /** An edge's tables that belong to no star. */
    private static final class EdgeRoutes {
        private final Edge edge;
        private final DeviceState device;
        private boolean isNew = true;
        private boolean moved;

        EdgeRoutes(Edge edge, int place) {
            this.edge = edge;
            this.device = new DeviceState(edge.device(), place);
        }
    }

    /** Takes a network of several cores, the scheduler of all stars, and a stopwatch, ns, for statistics only. */
    public OverlaidStars(Network network, SchedulerChosen scheduler, LongSupplier stopwatchNs) {
        this.network = network;
        this.rules = new OverlayRules(network);
        this.paths = new PathTable(network);
        this.usable = new boolean[network.stars().size()][network.edges().size()];
        this.framesWell = new int[usable.length][network.edges().size()];
        network.devices().forEach(device -> starsOf.put(device, new ArrayList<>()));
        for (Network part : network.stars()) {
            int[] places = part.edges().stream()
                    .mapToInt(edge -> network.indexOf(edge.id()).orElseThrow()).toArray();
            Star star = new Star(part, new StarController(
                    part, scheduler, stopwatchNs, lastBatch::incrementAndGet, statistics), places);
            for (int place : places) {
                usable[stars.size()][place] = true;
            }
            stars.add(star);
            part.devices().forEach(device -> starsOf.get(device).add(star));
        }
        for (int place = 0; place < network.edges().size(); place++) {
            Edge edge = network.edges().get(place);
            routes.put(edge.device(), new EdgeRoutes(edge, place));
        }
    }

    @Override
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.DeviceReady) {
            onDeviceReady(nowNs, (Event.DeviceReady) event);
        } else if (event instanceof Event.DeviceLost) {
            onDeviceLost(nowNs, (Event.DeviceLost) event);
        } else if (event instanceof Event.PacketIn) {
            Event.PacketIn packet = (Event.PacketIn) event;
            tell(nowNs, starThatHears(packet), packet);
        } else if (event instanceof Event.WriteDone) {
            Event.WriteDone done = (Event.WriteDone) event;
            EdgeRoutes edge = routes.get(done.device());
            if (edge == null || !edge.device.finishWrite(done.batch())) {
                starsOf(done.device()).forEach(star -> tell(nowNs, star, done));
            }
        } else if (event instanceof Event.WriteFailed) {
            onWriteFailed(nowNs, (Event.WriteFailed) event);
        } else if (event instanceof MasterShutdown) {
            MasterShutdown shutdown = (MasterShutdown) event;
            tell(nowNs, star(shutdown.core()), shutdown);
            reviewNs = Math.min(reviewNs, nowNs);
        } else if (event instanceof SlotsReserved) {
            commands.add(StarApp.slotsRefused("more than one star; expected one"));
        } else {
            stars.forEach(star -> tell(nowNs, star, event));
        }
        review(nowNs);
        routes.values().forEach(this::writeRoutes);
        beginReviews(nowNs);
        return commands;
    }

    private void tell(long nowNs, Star star, Event event) {
        commands.addAll(star.controller.onEvent(nowNs, event));
    }

    private List<Star> starsOf(DeviceId device) {
        List<Star> found = starsOf.get(device);
        if (found == null) {
            throw new IllegalArgumentException("device " + device + " is not in this network");
        }
        return found;
    }

    private Star star(CoreId core) {
        return stars.stream().filter(star -> star.network.core().id().equals(core)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("unknown core " + core));
    }

    /**
     * What an edge itself says names its star; light is of the star whose core it comes from. What is no star's is refused by
     * any.
     */
    private Star starThatHears(Event.PacketIn packet) {
        List<Star> found = starsOf(packet.device());
        OptionalInt core = packet.port() == WireConstants.PORT_LINECARD ? Message.read(packet.frame()).core()
                : OptionalInt.of(packet.port() - WireConstants.PORT_OPTICAL_BASE);
        return found.stream()
                .filter(star -> core.equals(OptionalInt.of(star.network.core().id().value())))
                .findFirst().orElse(found.get(0));
    }

    private void onDeviceReady(long nowNs, Event.DeviceReady ready) {
        List<TableEntry> rest = new ArrayList<>(ready.entries());
        EdgeRoutes edge = routes.get(ready.device());
        for (Star star : starsOf(ready.device())) {
            List<TableEntry> own = new ArrayList<>(ready.entries());
            if (edge != null) {
                own.removeIf(entry -> !OverlayRules.isOf(star.network, entry));
                rest.removeIf(entry -> OverlayRules.isOf(star.network, entry));
            }
            tell(nowNs, star, new Event.DeviceReady(ready.device(), own));
        }
        if (edge != null) {
            edge.device.becomeReady(rest);
            edge.isNew = true;
        }
    }

    private void onDeviceLost(long nowNs, Event.DeviceLost lost) {
        statistics.count(Counter.DEVICES_LOST);
        starsOf(lost.device()).forEach(star -> tell(nowNs, star, lost));
        if (routes.containsKey(lost.device())) {
            routes.get(lost.device()).device.becomeLost();
        }
        reviewNs = Math.min(reviewNs, nowNs);
    }

    private void onWriteFailed(long nowNs, Event.WriteFailed failed) {
        EdgeRoutes edge = routes.get(failed.device());
        if (edge != null && edge.device.isPending(failed.batch())) {
            statistics.count(Counter.WRITE_FAILURES);
            edge.device.becomeLost();
            commands.add(new Command.ReadTables(failed.device()));
        } else {
            starsOf(failed.device()).forEach(star -> tell(nowNs, star, failed));
        }
    }

    // ---- what belongs to no star ----

    private void writeRoutes(EdgeRoutes edge) {
        if (!edge.device.isSettled() || !edge.isNew && !edge.moved) {
            return;
        }
        List<Update> updates = edge.isNew
                ? edge.device.tables().changesTo(rules.rules(edge.edge, paths),
                        entry -> SwitchRules.isFixed(entry) || SwitchRules.isScheduled(entry))
                : edge.device.tables().changesTo(rules.shares(edge.edge, paths), OverlayRules::isShare);
        edge.isNew = false;
        edge.moved = false;
        if (!updates.isEmpty()) {
            commands.add(edge.device.startWrite(lastBatch.incrementAndGet(), updates));
            statistics.count(Counter.WRITE_BATCHES);
            statistics.count(Counter.WRITE_UPDATES, updates.size());
        }
    }

    private void beginReviews(long nowNs) {
        boolean all = stars.stream().allMatch(star -> star.controller.isConfigured())
                && routes.values().stream().allMatch(edge -> edge.device.isSettled());
        if (!configured && all) {
            configured = true;
            reviewNs = nowNs + network.frame().frameNs();
        }
    }

    // ---- which way traffic goes ----

    private void review(long nowNs) {
        if (!configured || nowNs < reviewNs) {
            return;
        }
        reviewNs = nowNs + network.frame().frameNs();
        if (firstReviewNs.isEmpty()) {
            firstReviewNs = OptionalLong.of(nowNs);
        }
        int[][] wanted = new int[stars.size()][network.edges().size() * network.edges().size()];
        for (int k = 0; k < stars.size(); k++) {
            Star star = stars.get(k);
            int[][] demand = star.controller.demandSlots();
            for (int i = 0; i < demand.length; i++) {
                judge(nowNs, k, i);
                for (int j = 0; j < demand.length; j++) {
                    wanted[k][star.places[i] * network.edges().size() + star.places[j]] = demand[i][j];
                }
            }
        }
        paths.want(wanted);
        BitSet moved = paths.follow(usable);
        framesToBalance--;
        if (framesToBalance <= 0) {
            framesToBalance = BALANCE_FRAMES;
            moved.or(paths.balance(usable));
        }
        routes.values().forEach(edge -> edge.moved |= moved.get(edge.device.edge()));
    }

    /** Whether traffic from and to an edge may go through a star. */
    private void judge(long nowNs, int k, int edge) {
        Star star = stars.get(k);
        int place = star.places[edge];
        int master = star.network.indexOf(star.network.master().id()).orElseThrow();
        boolean well = star.controller.isRunning() && !star.controller.isShutDown() && star.controller.takesPart(edge)
                && isHeard(nowNs, star, edge) && isHeard(nowNs, star, master);
        framesWell[k][place] = well ? Math.min(WELL_FRAMES, framesWell[k][place] + 1) : 0;
        usable[k][place] = well && (usable[k][place] || framesWell[k][place] == WELL_FRAMES);
    }

    private boolean isHeard(long nowNs, Star star, int edge) {
        long lastNs = Math.max(firstReviewNs.orElse(nowNs), star.controller.heardNs(edge));
        return nowNs - lastNs <= SILENT_FRAMES * network.frame().frameNs();
    }

    @Override
    public OptionalLong nextDeadlineNs() {
        Stream<OptionalLong> ofStars = stars.stream().map(star -> star.controller.nextDeadlineNs());
        return Stream.concat(ofStars, Stream.of(configured ? OptionalLong.of(reviewNs) : OptionalLong.empty()))
                .flatMapToLong(OptionalLong::stream).min();
    }

    @Override
    public boolean isConfigured() {
        return configured;
    }

    @Override
    public Snapshot snapshot() {
        List<StarSnapshot> shown = new ArrayList<>();
        for (int k = 0; k < stars.size(); k++) {
            List<EdgeId> edges = new ArrayList<>();
            for (int place = 0; place < usable[k].length; place++) {
                if (usable[k][place]) {
                    edges.add(network.edges().get(place).id());
                }
            }
            shown.add(new StarSnapshot(stars.get(k).controller.snapshot(), edges, paths.loadSlots(k)));
        }
        int edges = network.edges().size();
        int[][][] parts = new int[edges][edges][];
        for (int from = 0; from < edges; from++) {
            for (int to = 0; to < edges; to++) {
                parts[from][to] = paths.parts(from, to);
            }
        }
        return Snapshot.overlaid(network, shown, parts);
    }
}

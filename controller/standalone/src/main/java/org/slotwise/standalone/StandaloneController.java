// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.p4runtime.Driver;
import org.slotwise.p4runtime.LockstepDriver;
import org.slotwise.p4runtime.Patience;
import org.slotwise.p4runtime.WallClockDriver;
import org.slotwise.rest.AppResources;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.RingResources;
import org.slotwise.rest.RoutesResources;
import org.slotwise.rest.json.NetworkDocument;
import org.slotwise.rest.json.RingCodec;
import org.slotwise.rest.json.RoutesCodec;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.ring.FairnessApp;
import org.slotwise.ring.RingChoice;
import org.slotwise.ring.RingView;
import org.slotwise.routes.CapacityChosen;
import org.slotwise.routes.RoutesApp;
import org.slotwise.routes.RoutesView;
import org.slotwise.star.MasterShutdown;
import org.slotwise.star.ScheduleInForce;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.SchedulerFailed;
import org.slotwise.star.Snapshot;
import org.slotwise.star.StarApp;
import org.slotwise.star.network.Network;

/** The controller with its store, its P4Runtime driver and its REST server. */
final class StandaloneController implements ControllerService, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StandaloneController.class);
    private static final long ANSWER_TIMEOUT_MS = 2000;

    private final Configuration configuration;
    /** What is to be closed, the last one first. */
    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final Store store;
    private final AuditLog audit;
    private final Optional<StarApp> star;
    private final Optional<RoutesApp> routes;
    private final Optional<KeptCapacities> capacities;
    private final Optional<FairnessApp> ring;
    private final Optional<KeptRing> keptRing;
    private final AppHost host;
    private final Driver driver;
    private final RestServer rest;
    private volatile Optional<SchedulerChosen> chosen;

    private StandaloneController(Configuration configuration) throws IOException {
        this.configuration = configuration;
        opened(configuration.schedulers());
        try {
            this.store = opened(Store.open(configuration.store()));
            long electionId = store.nextElectionId(Instant.now());
            this.audit = opened(new AuditLog(configuration.store(), Clock.systemUTC(), AuditLog.MAX_BYTES));
            this.chosen = configuration.network().star().map(NetworkDocument.Star::scheduler)
                    .map(configured -> store.scheduler(configured).orElse(configured));
            this.star = configuration.network().star()
                    .map(known -> StarApp.of(known.network(), chosen.orElseThrow(), System::nanoTime));
            this.routes = configuration.network().routes().map(RoutesApp::new);
            this.capacities = configuration.network().routes().map(network -> new KeptCapacities(store.state(RoutesApp.ID), network));
            this.ring = configuration.network().ring().map(FairnessApp::new);
            this.keptRing = configuration.network().ring().map(network -> new KeptRing(store.state(FairnessApp.ID), network));
            List<App<?>> apps = new ArrayList<>();
            star.ifPresent(apps::add);
            routes.ifPresent(apps::add);
            ring.ifPresent(apps::add);
            this.host = new AppHost(apps);
            this.driver = opened(driver(electionId));
            this.rest = opened(RestServer.start(configuration.rest(), this, audit));
        } catch (IOException | RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private <T extends AutoCloseable> T opened(T part) {
        parts.push(part);
        return part;
    }

    private Driver driver(long electionId) {
        Driver.Setup setup = new Driver.Setup(host, configuration.programs(), configuration.p4runtime(),
                configuration.p4runtimeSecurity(), electionId, Patience.DEFAULT, this::onNotice);
        return switch (configuration.clock()) {
            case WALL -> new WallClockDriver(setup);
            case LOCKSTEP -> new LockstepDriver(setup);
        };
    }

    /** Starts everything; the switches are called in the background. */
    static StandaloneController start(Configuration configuration) throws IOException {
        StandaloneController controller = new StandaloneController(configuration);
        try {
            controller.sayWhatItWaitsFor();
            configuration.schedulers().prepare();
            controller.practise();
            controller.shutDownAgain();
            controller.capacities.ifPresent(kept -> kept.take().forEach(choice -> controller.driver.submit(RoutesApp.ID, choice)));
            controller.keptRing.ifPresent(kept -> kept.take().forEach(choice -> controller.driver.submit(FairnessApp.ID, choice)));
            controller.driver.start();
            return controller;
        } catch (RuntimeException | Error e) {
            // Its threads would keep a process alive that does nothing.
            controller.close();
            throw e;
        }
    }

    /** With what is chosen, which need not be what is configured. */
    private void practise() {
        chosen.filter(choice -> !choice.kind().runsElsewhere())
                .ifPresent(choice -> WarmUp.run(configuration.network().star().orElseThrow().network(), choice));
    }

    /** Before the practice, so that who started it knows what is to come; in virtual time the switches are there already. */
    private void sayWhatItWaitsFor() {
        if (configuration.clock() == Configuration.Clock.WALL) {
            List<Node> nodes = configuration.network().nodes();
            DeviceId first = nodes.stream().map(Node::device).min(Comparator.naturalOrder()).orElseThrow();
            LOG.info("REST is at {}; waiting for {} switches: device {} at {}, ...", restUrl(), nodes.size(), first,
                    configuration.p4runtime().of(first));
        }
    }

    /** Where the REST server listens. */
    String restUrl() {
        return rest.url();
    }

    /** The star's scheduler that was last chosen, with all its settings. */
    Optional<ObjectNode> scheduler() {
        return chosen.map(choice -> SchedulerCodec.encode(choice.kind(), choice.settings()));
    }

    /** Completes when all switches are configured. */
    CompletableFuture<Void> configured() {
        return driver.configured();
    }

    /** Completes exceptionally if the controller cannot go on. */
    CompletableFuture<Void> failure() {
        return driver.failure();
    }

    @Override
    public Snapshot snapshot() {
        return view(star.orElseThrow(() -> new NoSuchApplicationException("the network has no star; GET /slotwise/v1/apps")));
    }

    @Override
    public List<AppResources> apps() {
        List<AppResources> apps = new ArrayList<>();
        star.ifPresent(app -> apps.addAll(ControllerService.super.apps()));
        routes.ifPresent(app -> apps.add(new RoutesResources(() -> view(app), this::choose, told -> driver.submit(RoutesApp.ID, told))));
        ring.ifPresent(app -> apps.add(new RingResources(() -> view(app), this::choose, told -> driver.submit(FairnessApp.ID, told))));
        return apps;
    }

    @Override
    public Optional<RoutesView> routes() {
        return routes.map(this::view);
    }

    @Override
    public Optional<RingView> ring() {
        return ring.map(this::view);
    }

    @Override
    public long unclaimedPackets() {
        return ask(host::unclaimedPackets);
    }

    private <V> V view(App<V> app) {
        return ask(app::view);
    }

    private <V> V ask(Callable<V> question) {
        try {
            return driver.ask(question, ANSWER_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("the controller is ending", e);
        } catch (TimeoutException | IllegalStateException e) {
            throw new UnavailableException("the controller does not answer", e);
        }
    }

    @Override
    public synchronized void choose(SchedulerChosen choice) {
        Snapshot before = snapshot();
        try {
            store.keep(choice, configuration.network().star().orElseThrow().scheduler());
        } catch (IOException e) {
            throw notKept("the choice of a scheduler", e);
        }
        driver.submit(StarApp.ID, choice);
        chosen = Optional.of(choice);
        ObjectNode after = SchedulerCodec.encode(choice.kind(), choice.settings());
        ObjectNode changed = Main.event("changed");
        changed.set("scheduler", after);
        Main.tell(changed);
        audit.scheduler(SchedulerCodec.encode(before.scheduler(), before.schedulerSettings()), after);
    }

    /** What XCP reckons with holds over restarts, until the port is configured otherwise. */
    private synchronized void choose(CapacityChosen choice) {
        long beforeBps = view(routes.orElseThrow()).routers().get(choice.device()).xcpBps().get(choice.port());
        try {
            capacities.orElseThrow().keep(choice);
        } catch (IOException e) {
            throw notKept("a capacity", e);
        }
        driver.submit(RoutesApp.ID, choice);
        ObjectNode changed = Main.event("changed");
        changed.set("capacity", RoutesCodec.capacity(choice.device(), choice.port(), choice.bps()));
        Main.tell(changed);
        audit.capacity(choice.device(), choice.port(), beforeBps, choice.bps());
    }

    /** What is chosen for a ring holds over restarts, until it is configured otherwise. */
    private synchronized void choose(RingChoice choice) {
        ObjectNode before = RingCodec.current(view(ring.orElseThrow()), choice);
        try {
            keptRing.orElseThrow().keep(choice);
        } catch (IOException e) {
            throw notKept("what was chosen for the ring", e);
        }
        driver.submit(FairnessApp.ID, choice);
        ObjectNode after = RingCodec.encode(choice);
        ObjectNode changed = Main.event("changed");
        changed.set("ring", after);
        Main.tell(changed);
        audit.ring(before, after);
    }

    private static NotKeptException notKept(String what, IOException cause) {
        LOG.error("{} is not kept, and not made: {}", what, cause.getMessage());
        return new NotKeptException(what + " cannot be kept over a restart, so nothing was changed: " + cause.getMessage(), cause);
    }

    private void onNotice(Command.Notice notice) {
        if (notice instanceof ScheduleInForce inForce) {
            auditSchedule(inForce);
        } else if (notice instanceof SchedulerFailed failed) {
            LOG.warn("{}", failed);
        } else {
            LOG.info("{}", notice);
        }
    }

    private void auditSchedule(ScheduleInForce inForce) {
        boolean several = configuration.network().star().orElseThrow().network().cores().size() > 1;
        audit.schedule(several ? OptionalInt.of(inForce.core().value()) : OptionalInt.empty(),
                inForce.version().value(), inForce.changedConnections());
    }

    private void shutDownAgain() {
        configuration.network().star().map(NetworkDocument.Star::network).filter(Network::canShutDown).ifPresent(network -> network.cores().stream()
                .filter(core -> store.isShutDown(core.id()))
                .forEach(core -> driver.submit(StarApp.ID, new MasterShutdown(core.id(), true))));
    }

    @Override
    public synchronized void shutDown(MasterShutdown shutdown) {
        boolean before = snapshot().states().stream()
                .anyMatch(star -> star.network().core().id().equals(shutdown.core()) && star.isShutDown());
        try {
            store.keep(shutdown);
        } catch (IOException e) {
            throw notKept("whether a master is shut down", e);
        }
        driver.submit(StarApp.ID, shutdown);
        ObjectNode changed = Main.event("changed");
        changed.putObject("shutdown").put("core", shutdown.core().value()).put("down", shutdown.isDown());
        Main.tell(changed);
        audit.shutdown(shutdown.core().value(), before, shutdown.isDown());
    }

    /** Ends what was begun last first. */
    @Override
    public void close() {
        while (!parts.isEmpty()) {
            try {
                parts.pop().close();
            } catch (Exception e) {
                LOG.warn("the controller did not end in order", e);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.p4runtime.Driver;
import org.slotwise.p4runtime.LockstepDriver;
import org.slotwise.p4runtime.Patience;
import org.slotwise.p4runtime.WallClockDriver;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.star.MasterShutdown;
import org.slotwise.star.ScheduleInForce;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.SchedulerFailed;
import org.slotwise.star.Snapshot;
import org.slotwise.star.StarApp;
import org.slotwise.star.network.Core;
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
    private final Driver driver;
    private StarApp star;
    private final RestServer rest;
    private volatile SchedulerChosen chosen;

    private StandaloneController(Configuration configuration) throws IOException {
        this.configuration = configuration;
        opened(configuration.schedulers());
        try {
            this.store = opened(Store.open(configuration.store()));
            long electionId = store.nextElectionId(Instant.now());
            this.audit = opened(new AuditLog(configuration.store(), Clock.systemUTC(), AuditLog.MAX_BYTES));
            this.driver = opened(driver(electionId));
            this.rest = opened(RestServer.start(configuration.rest(), this, audit));
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    private <T extends AutoCloseable> T opened(T part) {
        parts.push(part);
        return part;
    }

    private Driver driver(long electionId) {
        SchedulerChosen scheduler =
                store.scheduler(configuration.scheduler()).orElse(configuration.scheduler());
        this.chosen = scheduler;
        this.star = StarApp.of(configuration.network(), scheduler, System::nanoTime);
        Driver.Setup setup = new Driver.Setup(new AppHost(List.of(star)), configuration.programs(), configuration.p4runtime(),
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
            if (!configuration.scheduler().kind().runsElsewhere()) {
                WarmUp.run(configuration.network(), configuration.scheduler());
            }
            controller.shutDownAgain();
            controller.driver.start();
            return controller;
        } catch (RuntimeException e) {
            // Its threads would keep a process alive that does nothing.
            controller.close();
            throw e;
        }
    }

    /** Before the practice, so that who started it knows what is to come; in virtual time the switches are there already. */
    private void sayWhatItWaitsFor() {
        if (configuration.clock() == Configuration.Clock.WALL) {
            Network network = configuration.network();
            DeviceId first = network.edges().get(0).device();
            LOG.info("REST is at {}; waiting for {} switches: device {} at {}, ...", restUrl(),
                    network.edges().size() + network.cores().size(), first, configuration.p4runtime().of(first));
        }
    }

    /** Where the REST server listens. */
    String restUrl() {
        return rest.url();
    }

    /** The scheduler last chosen, with all its settings. */
    ObjectNode scheduler() {
        return SchedulerCodec.encode(chosen.kind(), chosen.settings());
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
        try {
            return driver.view(star, ANSWER_TIMEOUT_MS);
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
            store.keep(choice, configuration.scheduler());
        } catch (IOException e) {
            throw notKept("the choice of a scheduler", e);
        }
        driver.submit(StarApp.ID, choice);
        chosen = choice;
        ObjectNode changed = Main.event("changed");
        changed.set("scheduler", scheduler());
        Main.tell(changed);
        audit.scheduler(SchedulerCodec.encode(before.scheduler(), before.schedulerSettings()),
                SchedulerCodec.encode(choice.kind(), choice.settings()));
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
        }
    }

    private void auditSchedule(ScheduleInForce inForce) {
        boolean several = configuration.network().cores().size() > 1;
        audit.schedule(several ? OptionalInt.of(inForce.core().value()) : OptionalInt.empty(),
                inForce.version().value(), inForce.changedConnections());
    }

    private void shutDownAgain() {
        Network network = configuration.network();
        for (Core core : network.cores()) {
            if (network.canShutDown() && store.isShutDown(core.id())) {
                driver.submit(StarApp.ID, new MasterShutdown(core.id(), true));
            }
        }
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

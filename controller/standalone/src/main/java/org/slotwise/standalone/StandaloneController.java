// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Choice;
import org.slotwise.apps.Host;
import org.slotwise.apps.Hosted;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.p4runtime.Driver;
import org.slotwise.p4runtime.LockstepDriver;
import org.slotwise.p4runtime.Patience;
import org.slotwise.p4runtime.WallClockDriver;
import org.slotwise.rest.ControllerService;

/** The controller with its store, its P4Runtime driver and its REST server. */
final class StandaloneController implements ControllerService, Host, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StandaloneController.class);
    private static final long ANSWER_TIMEOUT_MS = 2000;

    private final Configuration configuration;
    /** What is to be closed, the last one first. */
    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final Store store;
    private final AuditLog audit;
    private final List<Hosted<?>> apps;
    private final AppHost host;
    private final Driver driver;
    private final RestServer rest;

    private StandaloneController(Configuration configuration) throws IOException {
        this.configuration = configuration;
        opened(configuration.extensions());
        try {
            this.store = opened(Store.open(configuration.store()));
            long electionId = store.nextElectionId(Instant.now());
            this.audit = opened(new AuditLog(configuration.store(), Clock.systemUTC(), AuditLog.MAX_BYTES));
            this.apps = Hosted.all(configuration.network(), store::state);
            this.host = Hosted.sideBySide(apps);
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
            configuration.extensions().prepare();
            controller.apps.forEach(app -> app.part().practise(controller.store.state(app.id())));
            controller.apps.forEach(app -> app.part().kept(controller.store.state(app.id())).forEach(choice -> controller.order(app, choice)));
            controller.driver.start();
            return controller;
        } catch (RuntimeException | Error e) {
            // Its threads would keep a process alive that does nothing.
            controller.close();
            throw e;
        }
    }

    /** Before the practice, so that who started it knows what is to come; in virtual time the switches are there already. */
    private void sayWhatItWaitsFor() {
        if (configuration.clock() == Configuration.Clock.WALL) {
            List<Node> nodes = configuration.network().nodes();
            Optional<DeviceId> first = nodes.stream().map(Node::device).min(Comparator.naturalOrder());
            LOG.info("REST is at {}; waiting for {} switches{}", restUrl(), nodes.size(),
                    first.map(device -> ": device " + device + " at " + configuration.p4runtime().of(device) + ", ...").orElse(""));
        }
    }

    /** Where the REST server listens. */
    String restUrl() {
        return rest.url();
    }

    /** Adds what applications have to say when all switches are configured, and where the live page is. */
    void describe(ObjectNode ready) {
        rest.pageUrl().ifPresent(url -> ready.put("page", url));
        apps.forEach(app -> app.part().describe(store.state(app.id()), ready));
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
    public List<AppResources> apps() {
        return apps.stream().<AppResources>map(app -> app.resources(this)).toList();
    }

    @Override
    public long unclaimedPackets() {
        return ask(host::unclaimedPackets);
    }

    @Override
    public <V> V view(Hosted<V> app) {
        return ask(app.app()::view);
    }

    @Override
    public void order(Hosted<?> app, Event.Order order) {
        driver.submit(app.id(), order);
    }

    private <V> V ask(Callable<V> question) {
        try {
            return driver.ask(question, ANSWER_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("the controller is shutting down", e);
        } catch (TimeoutException | IllegalStateException e) {
            throw new UnavailableException("the controller is not responding", e);
        }
    }

    @Override
    public synchronized <V> void choose(Hosted<V> app, Choice<V> choice) {
        ObjectNode audited = choice.audited(view(app));
        try {
            choice.keep(store.state(app.id()));
        } catch (IOException e) {
            throw notKept(choice.title(), e);
        }
        order(app, choice.order());
        ObjectNode changed = Main.event("changed");
        changed.set(choice.what(), choice.told());
        Main.tell(changed);
        audit.choice(choice.what(), audited);
    }

    private static NotKeptException notKept(String what, IOException cause) {
        LOG.error("could not persist {}; change rejected: {}", what, cause.getMessage());
        return new NotKeptException("could not persist " + what + "; change rejected: " + cause.getMessage(), cause);
    }

    private void onNotice(Command.Notice notice) {
        Optional<ObjectNode> history = Optional.ofNullable(configuration.network().parts().get(notice.app()))
                .flatMap(part -> part.history(notice));
        if (history.isPresent()) {
            audit.history(history.get());
        } else if (notice.isFailure()) {
            LOG.warn("{}", notice);
        } else {
            LOG.info("{}", notice);
        }
    }

    /** Ends what was begun last first. */
    @Override
    public void close() {
        while (!parts.isEmpty()) {
            try {
                parts.pop().close();
            } catch (Exception e) {
                LOG.warn("controller shutdown failed", e);
            }
        }
    }
}

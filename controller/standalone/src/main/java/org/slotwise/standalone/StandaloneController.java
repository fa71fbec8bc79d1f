// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.system.Change;
import org.slotwise.rest.system.HostedSystems;
import org.slotwise.rest.system.SystemHost;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
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
final class StandaloneController implements ControllerService, SystemHost, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StandaloneController.class);
    private static final long ANSWER_TIMEOUT_MS = 2000;

    private final Configuration configuration;
    /** What is to be closed, the last one first. */
    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final Store store;
    private final AuditLog audit;
    private final HostedSystems systems;
    private final Driver driver;
    private final RestServer rest;

    private StandaloneController(Configuration configuration) throws IOException {
        this.configuration = configuration;
        opened(configuration.extensions());
        try {
            this.store = opened(Store.open(configuration.store()));
            long electionId = store.nextElectionId(Instant.now());
            this.audit = opened(new AuditLog(configuration.store(), Clock.systemUTC(), AuditLog.MAX_BYTES));
            this.systems = new HostedSystems(configuration.network(), store::state);
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
        Driver.Setup setup = new Driver.Setup(systems.host(), configuration.programs(), configuration.p4runtime(),
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
            controller.parts().forEach(part -> part.practise(controller.store.state(part.id())));
            controller.systems.stored(controller.store::state).forEach((id, orders) -> orders.forEach(order -> controller.driver.submit(id, order)));
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
        parts().forEach(part -> part.describe(store.state(part.id()), ready));
    }

    private Collection<SystemPart<?>> parts() {
        return configuration.network().parts().values();
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
    public List<SystemResources<?>> apps() {
        return systems.resources(this);
    }

    @Override
    public long unclaimedPackets() {
        return ask(systems.host()::unclaimedPackets);
    }

    @Override
    public <V> V view(SystemPart<V> system) {
        return ask(systems.app(system)::view);
    }

    @Override
    public void order(SystemPart<?> system, Event.Order order) {
        driver.submit(system.id(), order);
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
    public synchronized <V> void change(SystemPart<V> system, Change<V> change) {
        ObjectNode audited = change.audited(view(system));
        try {
            change.store(store.state(system.id()));
        } catch (IOException e) {
            throw notKept(change.title(), e);
        }
        order(system, change.order());
        ObjectNode changed = Main.event("changed");
        changed.set(change.event(), change.told());
        Main.tell(changed);
        audit.choice(change.event(), audited);
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

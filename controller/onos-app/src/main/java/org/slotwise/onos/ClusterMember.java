// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.onosproject.cluster.ControllerNode;
import org.onosproject.cluster.Leader;
import org.onosproject.cluster.Leadership;
import org.onosproject.cluster.LeadershipEvent;
import org.onosproject.cluster.LeadershipEventListener;
import org.onosproject.cluster.NodeId;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.NetworkConfigEvent;
import org.onosproject.net.config.NetworkConfigListener;
import org.onosproject.net.device.DeviceEvent;
import org.onosproject.net.device.DeviceListener;
import org.onosproject.net.packet.PacketContext;
import org.onosproject.net.packet.PacketProcessor;
import org.onosproject.store.cluster.messaging.MessageSubject;
import org.onosproject.store.service.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.system.Change;
import org.slotwise.rest.system.HostedSystems;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemHost;
import org.slotwise.rest.system.SystemKinds;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.AppState;
import org.slotwise.control.Backoff;
import org.slotwise.control.Command;
import org.slotwise.control.ControlLoop;
import org.slotwise.control.Event;
import org.slotwise.onos.api.SlotwiseEvent;
import org.slotwise.onos.flow.Fence;
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.onos.flow.OnosSwitches;
import org.slotwise.rest.ControllerService.NoSuchApplicationException;
import org.slotwise.rest.ControllerService.UnavailableException;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * This node's part in a cluster where one node, the leader, runs the controller. The others hand it the packets of the
 * switches whose masters they are, and are ready to take over.
 */
final class ClusterMember {
    static final String LEADERSHIP_TOPIC = "slotwise";
    static final MessageSubject PACKET_IN = new MessageSubject("slotwise-packet-in");
    private static final long LEAVE_TIMEOUT_MS = 5000;
    private static final long NO_TERM = -1;
    private static final Set<DeviceEvent.Type> NEW_IN_TOPOLOGY = Set.of(
            DeviceEvent.Type.DEVICE_ADDED, DeviceEvent.Type.DEVICE_AVAILABILITY_CHANGED, DeviceEvent.Type.PORT_ADDED);
    static final int BELIEVED_REFUSALS = 20;
    private static final Logger LOG = LoggerFactory.getLogger(ClusterMember.class);

    private final ClusterServices services;
    private final ApplicationId app;
    private final FlowRuleSwitches switches;
    private final ScheduledExecutorService thread;
    private final IntSupplier lastRetryMs;
    private final KeptChoices choices;
    private final SystemKinds kinds;
    private final NetworkConfigs networks;
    private final Publisher publisher;
    private final NetworkConfigListener configListener = new ConfigurationChange();
    private final LeadershipEventListener leadershipListener = new LeadershipChange();
    private final DeviceListener deviceListener = this::onDeviceEvent;
    private final PacketProcessor packetProcessor = this::onPacket;

    private final LeaderTerms terms;
    private final Commits commits;
    /** What {@link #join} did, to be undone in the other direction. */
    private final Deque<Runnable> joined = new ArrayDeque<>();

    /** Set on {@link #thread} only; null unless this node leads and a network is configured. */
    private volatile Running running;
    private volatile boolean left;
    /** Before the next attempt at what ONOS's cluster did not let happen; on {@link #thread} only, like the next. */
    private final Backoff backoff;
    private boolean retrying;
    /** A term of ours that was refused as too old, though ONOS says that this node leads, and how often in a row. */
    private long refusedTerm = NO_TERM;
    private long refusedAt;
    private int refusals;
    /** After a defect: others may lead first. */
    private boolean standsBack;
    /** Whether links and hosts are about to be shown again. */
    private final AtomicBoolean publishes = new AtomicBoolean();

    ClusterMember(ClusterServices services, ApplicationId app, FlowRuleSwitches switches, ScheduledExecutorService thread,
            IntSupplier lastRetryMs, Publisher publisher, SystemKinds kinds) {
        this.services = services;
        this.kinds = kinds;
        this.networks = new NetworkConfigs(services.configuration, app, kinds);
        this.publisher = publisher;
        this.app = app;
        this.switches = switches;
        this.thread = thread;
        this.lastRetryMs = lastRetryMs;
        this.backoff = Backoff.ofMs(lastRetryMs::getAsInt);
        this.choices = new KeptChoices(services.storage);
        String node = services.cluster.getLocalNode().id().id();
        this.terms = new LeaderTerms(services.storage, node);
        this.commits = new Commits(services.storage, node);
    }

    /** Starts to listen, and to run for leadership. If ONOS does not let it, nothing of it stays. */
    void join() {
        try {
            networks.factories().forEach(factory -> begin(() -> services.configuration.registerConfigFactory(factory),
                    () -> services.configuration.unregisterConfigFactory(factory)));
            begin(() -> services.configuration.addListener(configListener),
                    () -> services.configuration.removeListener(configListener));
            begin(() -> services.leadership.addListener(leadershipListener),
                    () -> services.leadership.removeListener(leadershipListener));
            begin(() -> services.devices.addListener(deviceListener), () -> services.devices.removeListener(deviceListener));
            begin(() -> services.packets.addProcessor(packetProcessor, PacketProcessor.director(1)),
                    () -> services.packets.removeProcessor(packetProcessor));
            begin(() -> services.communication.addSubscriber(
                    PACKET_IN, PacketInMessage::decode, this::onRelayed, Runnable::run),
                    () -> services.communication.removeSubscriber(PACKET_IN));
        } catch (RuntimeException e) {
            leave();
            throw e;
        }
        reconsiderLater();
        reconsiderNowAndThen();
    }

    private void begin(Runnable action, Runnable undo) {
        joined.push(undo);
        action.run();
    }

    /** Undoes {@link #join}; the switches keep their tables, and nothing is written to them any more when this returns. */
    void leave() {
        left = true;
        Running now = running;
        if (now != null) {
            now.term.end();
        }
        while (!joined.isEmpty()) {
            try {
                joined.pop().run();
            } catch (RuntimeException e) {
                LOG.warn("cleanup step failed: {}", e.toString());
            }
        }
        try {
            thread.submit(() -> {
                stopController();
                // Before another node leads, and shows them.
                publisher.withdraw();
            }).get(LEAVE_TIMEOUT_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException | RejectedExecutionException e) {
            LOG.warn("controller shutdown failed", e);
        }
        withdraw();
    }

    /** When nothing runs on the thread that could run for leadership again. */
    private void withdraw() {
        try {
            services.leadership.withdraw(LEADERSHIP_TOPIC);
        } catch (RuntimeException e) {
            LOG.warn("leadership not withdrawn: {}", e.toString());
        }
    }

    /** Throws as {@link Fence#check} does if what was ordered under a mandate may not be written any more. */
    void checkOrder(long mandate) {
        terms.checkOrder(mandate);
    }

    /** Where the controller runs, if not here. */
    Optional<String> remoteLeader() {
        NodeId leader = services.leadership.getLeader(LEADERSHIP_TOPIC);
        if (leader == null || isLocal(leader)) {
            return Optional.empty();
        }
        ControllerNode node = services.cluster.getNode(leader);
        return Optional.ofNullable(node).map(ControllerNode::ip)
                .map(address -> address.isIp6() ? "[" + address + "]" : address.toString());
    }

    /**
     * What an application shows now; throws {@link UnavailableException} if this node does not run the controller, and
     * {@link NoSuchApplicationException} if it runs no such application. Waits for the cluster.
     */
    <V> V view(String id, Class<V> type, long timeoutMs) {
        return asked(now -> type.cast(now.runner.view(now.systems.app(id), timeoutMs)));
    }

    /** Names of the applications that this node runs; throws {@link UnavailableException} if it runs none. */
    List<String> apps() {
        return current().systems.names();
    }

    /** Their resources, which find the application again that has the name when they are asked; throws as {@link #apps} does. */
    List<SystemResources<?>> resources(IntSupplier timeoutMs) {
        SystemHost host = new SystemHost() {
            @Override
            public <V> V view(SystemPart<V> system) {
                return asked(now -> now.runner.view(now.systems.app(system), timeoutMs.getAsInt()));
            }

            @Override
            public boolean isCluster() {
                return true;
            }

            @Override
            public void order(SystemPart<?> system, Event.Order order) {
                ClusterMember.this.order(system.id(), order, timeoutMs.getAsInt());
            }

            @Override
            public <V> void change(SystemPart<V> system, Change<V> change) {
                storeAndOrder(system.id(), change, timeoutMs.getAsInt());
            }
        };
        return current().systems.resources(host);
    }

    /** What is asked of the controller that runs here. */
    private interface Question<T> {
        T of(Running now) throws InterruptedException, TimeoutException;
    }

    private <T> T asked(Question<T> question) {
        Running now = current();
        try {
            now.term.check();
            return question.of(now);
        } catch (Fence.SupersededException e) {
            throw new UnavailableException("this node is no longer the leader", e);
        } catch (StorageException e) {
            throw new UnavailableException("leadership of this node unknown", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("the controller is shutting down", e);
        } catch (TimeoutException | IllegalStateException e) {
            throw new UnavailableException("the controller is not responding", e);
        }
    }

    /** Chooses for this leader and those after it. */
    private void storeAndOrder(String id, Change<?> change, long timeoutMs) {
        asked(now -> {
            store(change, choices.of(id));
            now.runner.order(now.systems.app(id).id(), change.order(), timeoutMs);
            return null;
        });
    }

    private static void store(Change<?> change, AppState state) {
        try {
            change.store(state);
        } catch (IOException | StorageException e) {
            throw new UnavailableException("the setting cannot be stored", e);
        }
    }

    /** Gives an application an order, which nobody keeps; throws as {@link #view} does. */
    void order(String id, Event.Order order, long timeoutMs) {
        asked(now -> {
            now.runner.order(now.systems.app(id).id(), order, timeoutMs);
            return null;
        });
    }

    /**
     * What runs, if this node leads by what ONOS says now, which for a node that was stopped is what it said before until it has
     * heard from the cluster.
     */
    private Running current() {
        NodeId leader = services.leadership.getLeader(LEADERSHIP_TOPIC);
        if (leader == null) {
            throw new UnavailableException("no leader elected", null);
        }
        if (!isLocal(leader)) {
            throw new UnavailableException("the controller runs on node " + leader, null);
        }
        Running now = running;
        if (now != null && now.term.isOpen()) {
            return now;
        }
        throw new UnavailableException(networks.document().isEmpty()
                ? "no network is configured at apps/" + app.name() + "/" + SlotwiseConfig.KEY
                : "this node is the leader, takeover in progress", null);
    }

    private boolean isLocal(NodeId node) {
        return services.cluster.getLocalNode().id().equals(node);
    }

    // ---- who runs the controller ----

    /**
     * Starts or ends the controller as leadership and configuration have it. Who does not lead runs each time: ONOS keeps what it heard
     * last of a leadership, for ever if its session with the cluster was over meanwhile, and asks anew when a node runs. A node that
     * runs already changes nothing by that.
     */
    private void reconsider() {
        boolean leads = running != null && running.term.isOpen();
        if (!standsBack && !(leads && isCandidate())) {
            services.leadership.runForLeadership(LEADERSHIP_TOPIC);
        }
        long term = ownTerm();
        Optional<JsonNode> configured = networks.document();
        boolean goesOn = running != null && running.term.isOpen() && term == running.term.number();
        if (goesOn && configured.equals(Optional.of(running.configuration))) {
            return;
        }
        if (!goesOn) {
            stopController();
        }
        if (term == NO_TERM || configured.isEmpty() || standsBack) {
            stopController();
            showNothing(term);
            return;
        }
        // Systems that do not go together leave alone what runs.
        HostedSystems systems = systems(configured.get());
        stopController();
        startController(configured.get(), systems, term);
    }

    private HostedSystems systems(JsonNode configuration) {
        try {
            return new HostedSystems(NetworkDocument.decode("", configuration, kinds), choices::of);
        } catch (InvalidJsonException e) {
            throw new IllegalStateException("incompatible applications: " + e.getMessage(), e);
        }
    }

    /** Links and hosts are shown by the node that leads, and are those of all. */
    private void showNothing(long term) {
        NodeId leader = services.leadership.getLeader(LEADERSHIP_TOPIC);
        if (leader != null && !isLocal(leader)) {
            publisher.leave();
        } else if (term != NO_TERM && !standsBack) {
            publisher.withdraw();
        }
    }

    /** By what the cluster knows: it forgets a node that was stopped for longer than its session lasts, and tells nobody. */
    private boolean isCandidate() {
        Leadership leadership = services.leadership.getLeadership(LEADERSHIP_TOPIC);
        return leadership != null && leadership.candidates().contains(services.cluster.getLocalNode().id());
    }

    /** Asked once: between two questions another node could come to lead, and its term would be taken for this node's. */
    private long ownTerm() {
        return Optional.ofNullable(services.leadership.getLeadership(LEADERSHIP_TOPIC)).map(Leadership::leader)
                .filter(leader -> isLocal(leader.nodeId())).map(Leader::term).orElse(NO_TERM);
    }

    private void startController(JsonNode configuration, HostedSystems systems, long term) {
        takeOver(term);
        Term begun = new Term(term, terms, commits.begin(term, systems.commits()), this::reconsiderLater);
        // Now that no leader before keeps another one.
        Map<String, List<Event.Order>> chosen = systems.stored(choices::of);
        OnosSwitches fenced = switches.under(begun);
        ControllerRunner runner = new ControllerRunner(systems.host(), fenced, thread,
                System::nanoTime, lastRetryMs.getAsInt(), new RunnerEvents());
        running = new Running(runner, configuration, systems, fenced, begun);
        LOG.info("controller started: {} with {} switches, term {}", systems.names(), systems.host().topology().nodes().size(), term);
        chosen.forEach((id, orders) -> orders.forEach(order -> runner.submit(id, order)));
        runner.start();
        publisher.publish(systems.host().topology());
        tell(SlotwiseEvent.Type.STARTED, running);
    }

    /** ONOS shows no link of a switch that it does not know yet, or has forgotten. */
    private void publishAgain() {
        if (running != null && running.term.isOpen()) {
            publisher.publish(running.systems.host().topology());
        }
    }

    private void tell(SlotwiseEvent.Type type, Running of) {
        of.systems.names().forEach(name -> publisher.post(new SlotwiseEvent(type, name, "term " + of.term.number())));
    }

    /**
     * Terms only grow, but a cluster that was set up anew may count them from 1, and ONOS may count one twice: who is refused that often
     * is believed, if the leader in force has written nothing meanwhile. What ONOS tells a node that was cut off may be old for long.
     */
    private void takeOver(long term) {
        try {
            terms.begin(term);
        } catch (Fence.SupersededException e) {
            long version = terms.version();
            refusals = term == refusedTerm && version == refusedAt ? refusals + 1 : 1;
            refusedTerm = term;
            refusedAt = version;
            if (refusals < BELIEVED_REFUSALS) {
                throw e;
            }
            LOG.warn("term taken over: ONOS repeatedly reports this node as leader: {}", e.getMessage());
            terms.beginAnew(term);
        }
        refusals = 0;
    }

    private void stopController() {
        if (running != null) {
            running.term.end();
            running.runner.close();
            tell(SlotwiseEvent.Type.ENDED, running);
            running = null;
            LOG.info("controller stopped on this node");
        }
    }

    private final class RunnerEvents implements ControlLoop.Listener {
        @Override
        public void onNotice(Command.Notice notice) {
            LOG.info("{}", notice);
            publisher.post(SlotwiseEvents.of(notice));
        }

        /** Another node may do better; if there is none, this one begins anew after a while. */
        @Override
        public void onFailure(Throwable defect) {
            LOG.error("controller failed: leadership withdrawn", defect);
            stopController();
            standsBack = true;
            thread.schedule(() -> onThread(() -> {
                standsBack = false;
                tryOrRetry(ClusterMember.this::reconsider);
            }), lastRetryMs.getAsInt(), TimeUnit.MILLISECONDS);
            tryOrRetry(() -> services.leadership.withdraw(LEADERSHIP_TOPIC));
        }
    }

    private void reconsiderLater() {
        onThread(() -> tryOrRetry(this::reconsider));
    }

    private void onThread(Runnable task) {
        try {
            thread.execute(() -> {
                if (!left) {
                    task.run();
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has stopped", e);
        }
    }

    /** What the cluster does not let happen now is tried again, until it does or this node leaves. */
    private void tryOrRetry(Runnable action) {
        try {
            action.run();
            backoff.reset();
        } catch (RuntimeException e) {
            LOG.error("controller start or stop failed: retry in {} ms: {}", backoff.next(), e.toString());
            reconsiderAgain();
        }
    }

    private void reconsiderAgain() {
        if (retrying) {
            return;
        }
        retrying = true;
        thread.schedule(() -> onThread(() -> {
            retrying = false;
            tryOrRetry(this::reconsider);
        }), backoff.afterFailure(), TimeUnit.MILLISECONDS);
    }

    /** An event that this node does not hear, since its session with the cluster was over, must not matter for ever. */
    private void reconsiderNowAndThen() {
        thread.schedule(() -> onThread(() -> {
            if (!retrying) {
                tryOrRetry(this::reconsider);
            }
            publishAgain();
            reconsiderNowAndThen();
        }), lastRetryMs.getAsInt(), TimeUnit.MILLISECONDS);
    }

    private final class LeadershipChange implements LeadershipEventListener {
        @Override
        public boolean isRelevant(LeadershipEvent event) {
            return event.subject().topic().equals(LEADERSHIP_TOPIC);
        }

        @Override
        public void event(LeadershipEvent event) {
            reconsiderLater();
        }
    }

    private final class ConfigurationChange implements NetworkConfigListener {
        @Override
        public boolean isRelevant(NetworkConfigEvent event) {
            return networks.concerns(event);
        }

        @Override
        public void event(NetworkConfigEvent event) {
            reconsiderLater();
        }
    }

    // ---- what happens ----

    private void onDeviceEvent(DeviceEvent event) {
        if (NEW_IN_TOPOLOGY.contains(event.type()) && !publishes.getAndSet(true)) {
            onThread(() -> {
                publishes.set(false);
                publishAgain();
            });
        }
        withRunner(runner -> {
            SlotwiseDevices.p4runtime(event.subject().id()).ifPresent(runner::check);
        });
    }

    private void onPacket(PacketContext context) {
        PacketInMessage.of(context.inPacket()).ifPresent(message -> {
            context.block();
            onSignaling(message);
        });
    }

    private void onSignaling(PacketInMessage message) {
        NodeId leader = services.leadership.getLeader(LEADERSHIP_TOPIC);
        if (leader == null || isLocal(leader)) {
            onRelayed(message);
        } else {
            services.communication.unicast(message, PACKET_IN, PacketInMessage::encode, leader);
        }
    }

    private void onRelayed(PacketInMessage message) {
        Running now = running;
        if (now != null) {
            now.packetIn(message);
        }
    }

    private void withRunner(Consumer<ControllerRunner> action) {
        Running now = running;
        if (now != null) {
            action.accept(now.runner);
        }
    }
}

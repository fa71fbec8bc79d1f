// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.onosproject.cluster.ClusterService;
import org.onosproject.cluster.LeadershipEvent;
import org.onosproject.cluster.LeadershipEventListener;
import org.onosproject.cluster.LeadershipService;
import org.onosproject.cluster.NodeId;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.ConfigFactory;
import org.onosproject.net.config.NetworkConfigEvent;
import org.onosproject.net.config.NetworkConfigListener;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.config.basics.SubjectFactories;
import org.onosproject.net.device.DeviceEvent;
import org.onosproject.net.device.DeviceListener;
import org.onosproject.net.device.DeviceService;
import org.onosproject.net.packet.InboundPacket;
import org.onosproject.net.packet.PacketContext;
import org.onosproject.net.packet.PacketProcessor;
import org.onosproject.net.packet.PacketService;
import org.onosproject.store.cluster.messaging.ClusterCommunicationService;
import org.onosproject.store.cluster.messaging.MessageSubject;
import org.onosproject.store.service.MapEvent;
import org.onosproject.store.service.MapEventListener;
import org.onosproject.store.service.StorageException;
import org.onosproject.store.service.StorageService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.core.Command;
import org.slotwise.core.Event;
import org.slotwise.core.NetworkController;
import org.slotwise.core.Snapshot;
import org.slotwise.onos.flow.Switches;
import org.slotwise.rest.ControllerService.UnavailableException;

/**
 * This node's part in a cluster where one node, the leader, runs the controller. The others hand it the packets of the
 * switches whose masters they are, and are ready to take over.
 */
final class ClusterMember {
    static final String LEADERSHIP_TOPIC = "slotwise";
    static final MessageSubject PACKET_IN = new MessageSubject("slotwise-packet-in");
    private static final Logger LOG = LoggerFactory.getLogger(ClusterMember.class);

    private final Services services;
    private final ApplicationId app;
    private final Switches switches;
    private final ScheduledExecutorService thread;
    private final IntSupplier lastRetryMs;
    private final SchedulerStore store;
    private final ConfigFactory<ApplicationId, SlotwiseConfig> configFactory = new NetworkConfigFactory();
    private final NetworkConfigListener configListener = new ConfigurationChange();
    private final LeadershipEventListener leadershipListener = new LeadershipChange();
    private final DeviceListener deviceListener = this::onDeviceEvent;
    private final PacketProcessor packetProcessor = this::onPacket;
    private final MapEventListener<String, String> choiceListener = this::onChoice;

    /** Set on {@link #thread} only; null unless this node leads and a network is configured. */
    private volatile Running running;

    /** ONOS's services that a member needs. */
    static final class Services {
        private final NetworkConfigRegistry configuration;
        private final ClusterService cluster;
        private final LeadershipService leadership;
        private final ClusterCommunicationService communication;
        private final DeviceService devices;
        private final PacketService packets;
        private final StorageService storage;

        Services(NetworkConfigRegistry configuration, ClusterService cluster, LeadershipService leadership,
                ClusterCommunicationService communication, DeviceService devices, PacketService packets,
                StorageService storage) {
            this.configuration = configuration;
            this.cluster = cluster;
            this.leadership = leadership;
            this.communication = communication;
            this.devices = devices;
            this.packets = packets;
            this.storage = storage;
        }
    }

    /** A controller and the configuration that it was made of. */
    private static final class Running {
        private final ControllerRunner runner;
        private final JsonNode configuration;
        private final Event.SchedulerChosen configuredScheduler;

        Running(ControllerRunner runner, JsonNode configuration,
                Event.SchedulerChosen configuredScheduler) {
            this.runner = runner;
            this.configuration = configuration;
            this.configuredScheduler = configuredScheduler;
        }
    }

    ClusterMember(Services services, ApplicationId app, Switches switches, ScheduledExecutorService thread,
            IntSupplier lastRetryMs) {
        this.services = services;
        this.app = app;
        this.switches = switches;
        this.thread = thread;
        this.lastRetryMs = lastRetryMs;
        this.store = new SchedulerStore(services.storage);
    }

    /** Starts to listen, and to run for leadership. */
    void join() {
        services.configuration.registerConfigFactory(configFactory);
        services.configuration.addListener(configListener);
        services.leadership.addListener(leadershipListener);
        services.devices.addListener(deviceListener);
        services.packets.addProcessor(packetProcessor, PacketProcessor.director(1));
        services.communication.addSubscriber(PACKET_IN, PacketInMessage::decode, this::onRelayed, Runnable::run);
        store.addListener(choiceListener);
        services.leadership.runForLeadership(LEADERSHIP_TOPIC);
        thread.execute(this::reconsider);
    }

    /** Undoes {@link #join}; the switches keep their tables. */
    void leave() {
        services.leadership.withdraw(LEADERSHIP_TOPIC);
        store.removeListener(choiceListener);
        services.communication.removeSubscriber(PACKET_IN);
        services.packets.removeProcessor(packetProcessor);
        services.devices.removeListener(deviceListener);
        services.leadership.removeListener(leadershipListener);
        services.configuration.removeListener(configListener);
        services.configuration.unregisterConfigFactory(configFactory);
        thread.execute(this::stopController);
    }

    /** The controller's state; throws {@link UnavailableException} if this node does not run it. */
    Snapshot snapshot(long timeoutMs) {
        try {
            return current().runner.snapshot(timeoutMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("the controller is ending", e);
        } catch (TimeoutException | IllegalStateException e) {
            throw new UnavailableException("the controller does not answer", e);
        }
    }

    /** Chooses a scheduler for all nodes; the leader takes it from the store. */
    void choose(Event.SchedulerChosen choice) {
        Event.SchedulerChosen configured = current().configuredScheduler;
        try {
            store.keep(choice, configured);
        } catch (StorageException e) {
            throw new UnavailableException("the choice cannot be stored", e);
        }
    }

    private Running current() {
        Running now = running;
        if (now != null) {
            return now;
        }
        NodeId leader = services.leadership.getLeader(LEADERSHIP_TOPIC);
        if (leader == null || isLocal(leader)) {
            throw new UnavailableException("no network is configured at apps/" + app.name() + "/"
                    + SlotwiseConfig.KEY, null);
        }
        throw new UnavailableException("the controller runs on node " + leader, null);
    }

    private boolean isLocal(NodeId node) {
        return services.cluster.getLocalNode().id().equals(node);
    }

    // ---- who runs the controller ----

    /** Starts or ends the controller as leadership and configuration have it. */
    private void reconsider() {
        boolean leads = isLocal(services.leadership.getLeader(LEADERSHIP_TOPIC));
        SlotwiseConfig config = services.configuration.getConfig(app, SlotwiseConfig.class);
        boolean same = running != null && config != null && config.node().equals(running.configuration);
        if (leads && same) {
            return;
        }
        stopController();
        if (leads && config != null) {
            startController(config);
        }
    }

    private void startController(SlotwiseConfig config) {
        Event.SchedulerChosen configured = config.scheduler();
        NetworkController controller = NetworkController.of(
                config.network(), store.choice(configured).orElse(configured), System::nanoTime);
        ControllerRunner runner = new ControllerRunner(controller, config.network(), switches, thread,
                System::nanoTime, lastRetryMs.getAsInt(), ClusterMember::audit);
        running = new Running(runner, config.node().deepCopy(), configured);
        LOG.info("this node runs the controller of {} edges", config.network().edges().size());
        runner.start();
    }

    private void stopController() {
        if (running != null) {
            running.runner.close();
            running = null;
            LOG.info("this node does not run the controller any more");
        }
    }

    private static void audit(Command.ScheduleInForce inForce) {
        LOG.info("schedule {} in force, {} connections changed", inForce.version(), inForce.changedConnections());
    }

    private void reconsiderLater() {
        thread.execute(() -> {
            try {
                reconsider();
            } catch (RuntimeException e) {
                LOG.error("the controller was not started", e);
            }
        });
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
            return event.configClass().equals(SlotwiseConfig.class) && Objects.equals(event.subject(), app);
        }

        @Override
        public void event(NetworkConfigEvent event) {
            reconsiderLater();
        }
    }

    private static final class NetworkConfigFactory extends ConfigFactory<ApplicationId, SlotwiseConfig> {
        NetworkConfigFactory() {
            super(SubjectFactories.APP_SUBJECT_FACTORY, SlotwiseConfig.class, SlotwiseConfig.KEY);
        }

        @Override
        public SlotwiseConfig createConfig() {
            return new SlotwiseConfig();
        }
    }

    // ---- what happens ----

    private void onDeviceEvent(DeviceEvent event) {
        withRunner(runner -> {
            SlotwiseDevices.p4runtime(event.subject().id()).ifPresent(runner::check);
        });
    }

    private void onPacket(PacketContext context) {
        InboundPacket packet = context.inPacket();
        SlotwiseDevices.p4runtime(packet.receivedFrom().deviceId()).ifPresent(device -> {
            ByteBuffer bytes = packet.unparsed().duplicate();
            byte[] frame = new byte[bytes.remaining()];
            bytes.get(frame);
            context.block();
            onSignaling(new PacketInMessage(device, (int) packet.receivedFrom().port().toLong(), frame));
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
        withRunner(runner -> {
            runner.packetIn(message.device(), message.port(), message.frame());
        });
    }

    private void onChoice(MapEvent<String, String> event) {
        thread.execute(() -> {
            if (running != null) {
                store.choice(running.configuredScheduler).ifPresent(running.runner::submit);
            }
        });
    }

    private void withRunner(Consumer<ControllerRunner> action) {
        Running now = running;
        if (now != null) {
            action.accept(now.runner);
        }
    }
}

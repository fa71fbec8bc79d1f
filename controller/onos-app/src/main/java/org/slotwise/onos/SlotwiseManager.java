// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.onlab.util.Tools.groupedThreads;
import static org.slotwise.onos.OsgiPropertyConstants.ANSWER_TIMEOUT_MS;
import static org.slotwise.onos.OsgiPropertyConstants.ANSWER_TIMEOUT_MS_DEFAULT;
import static org.slotwise.onos.OsgiPropertyConstants.LAST_RETRY_MS;
import static org.slotwise.onos.OsgiPropertyConstants.LAST_RETRY_MS_DEFAULT;

import java.nio.charset.StandardCharsets;
import java.util.Dictionary;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.onlab.util.Tools;
import org.onosproject.cfg.ComponentConfigService;
import org.onosproject.cluster.ClusterService;
import org.onosproject.cluster.LeadershipService;
import org.onosproject.core.ApplicationId;
import org.onosproject.core.CoreService;
import org.onosproject.drivers.p4runtime.mirror.P4RuntimeTableMirror;
import org.onosproject.event.EventDeliveryService;
import org.onosproject.event.ListenerRegistry;
import org.onosproject.mastership.MastershipAdminService;
import org.onosproject.mastership.MastershipService;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.device.DeviceService;
import org.onosproject.net.flow.FlowRuleService;
import org.onosproject.net.host.HostProviderRegistry;
import org.onosproject.net.link.LinkProviderRegistry;
import org.onosproject.net.packet.PacketService;
import org.onosproject.net.pi.service.PiPipeconfService;
import org.onosproject.net.pi.service.PiTranslationService;
import org.onosproject.p4runtime.api.P4RuntimeController;
import org.onosproject.store.cluster.messaging.ClusterCommunicationService;
import org.onosproject.store.service.StorageService;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.topology.Topology;
import org.slotwise.onos.api.SlotwiseEvent;
import org.slotwise.onos.api.SlotwiseListener;
import org.slotwise.onos.api.SlotwiseService;
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.onos.flow.Orders;
import org.slotwise.onos.flow.OtherMaster;
import org.slotwise.onos.flow.P4RuntimeMeterWriter;
import org.slotwise.onos.flow.P4RuntimeTableReader;
import org.slotwise.onos.pipeline.StoredFlowRules;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.Systems;

/** The app's one component: takes ONOS's services and joins them to a {@link ClusterMember}. */
@Component(immediate = true, service = {ControllerService.class, RemoteLeader.class,
    SlotwiseService.class, Orders.class}, property = {
    ANSWER_TIMEOUT_MS + ":Integer=" + ANSWER_TIMEOUT_MS_DEFAULT,
    LAST_RETRY_MS + ":Integer=" + LAST_RETRY_MS_DEFAULT,
})
public final class SlotwiseManager implements ControllerService, RemoteLeader, SlotwiseService, Orders {
    /** Name of the application, as in {@code app.xml}. */
    public static final String APP_NAME = "org.slotwise.app";
    private static final Logger LOG = LoggerFactory.getLogger(SlotwiseManager.class);
    private static final int READERS = 4;
    private static final long END_TIMEOUT_S = 2;
    /** A batch of rules takes less than a second, some seconds in an ONOS that has just started. */
    private static final long PATIENCE_MS = 10_000;

    @Reference
    CoreService core;
    @Reference
    ComponentConfigService properties;
    @Reference
    NetworkConfigRegistry configuration;
    @Reference
    ClusterService cluster;
    @Reference
    LeadershipService leadership;
    @Reference
    MastershipService mastership;
    @Reference
    MastershipAdminService mastershipChanges;
    @Reference
    ClusterCommunicationService communication;
    @Reference
    StorageService storage;
    @Reference
    DeviceService devices;
    @Reference
    FlowRuleService flowRules;
    @Reference
    PacketService packets;
    @Reference
    PiPipeconfService programs;
    @Reference
    PiTranslationService translation;
    @Reference
    P4RuntimeController p4runtime;
    @Reference
    P4RuntimeTableMirror mirror;
    @Reference
    LinkProviderRegistry links;
    @Reference
    HostProviderRegistry hosts;
    @Reference
    EventDeliveryService events;

    private final ListenerRegistry<SlotwiseEvent, SlotwiseListener> listeners = new ListenerRegistry<>();
    private TopologyPublisher topology;

    /** Longest wait for the controller's answer to a REST request or a command, milliseconds. */
    private volatile int answerTimeoutMs = ANSWER_TIMEOUT_MS_DEFAULT;
    /** Longest wait before a switch is read again that could not be, milliseconds. */
    private volatile int lastRetryMs = LAST_RETRY_MS_DEFAULT;

    private ScheduledExecutorService thread;
    private ExecutorService readers;
    private ExecutorService checks;
    private ClusterMember member;

    @Activate
    void activate(ComponentContext context) {
        StoredFlowRules.setEnded(false);
        ApplicationId app = core.registerApplication(APP_NAME);
        properties.registerProperties(getClass());
        modified(context);
        thread = Executors.newSingleThreadScheduledExecutor(groupedThreads("slotwise", "controller", LOG));
        readers = Executors.newFixedThreadPool(READERS, groupedThreads("slotwise", "reader-%d", LOG));
        checks = Executors.newSingleThreadExecutor(groupedThreads("slotwise", "term", LOG));
        try {
            events.addSink(SlotwiseEvent.class, listeners);
            topology = new TopologyPublisher(links, hosts);
            FlowRuleSwitches switches = new FlowRuleSwitches(devices, flowRules, packets, programs,
                    new P4RuntimeTableReader(p4runtime, translation.flowRuleTranslator(), mirror),
                    new P4RuntimeMeterWriter(p4runtime), new OtherMaster(mastership, mastershipChanges, PATIENCE_MS), app, readers, checks);
            member = new ClusterMember(new ClusterServices(configuration, cluster, leadership, communication,
                    devices, packets, storage), app, switches, thread, () -> lastRetryMs, new ToOthers(),
                    Systems.all());
            member.join();
        } catch (RuntimeException e) {
            end();
            throw e;
        }
        LOG.info("started");
    }

    @Deactivate
    void deactivate() {
        member.leave();
        end();
        StoredFlowRules.setEnded(true);
        LOG.info("stopped: table entries remain in the switches");
    }

    /** Nothing of the app runs when this returns, but for a thread that a switch does not let go. */
    private void end() {
        for (ExecutorService threads : List.of(thread, readers, checks)) {
            threads.shutdownNow();
        }
        try {
            for (ExecutorService threads : List.of(thread, readers, checks)) {
                if (!threads.awaitTermination(END_TIMEOUT_S, TimeUnit.SECONDS)) {
                    LOG.warn("thread still running: waiting for a switch or the cluster");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        undo(() -> {
            if (topology != null) {
                topology.close();
            }
        });
        undo(() -> events.removeSink(SlotwiseEvent.class));
        undo(() -> properties.unregisterProperties(getClass(), false));
    }

    private static void undo(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            LOG.warn("cleanup step failed: {}", e.toString());
        }
    }

    /** ONOS's topology and whoever listens; what they do not take is no reason not to control. */
    private final class ToOthers implements Publisher {
        @Override
        public void post(SlotwiseEvent event) {
            try {
                events.post(event);
            } catch (RuntimeException e) {
                LOG.warn("event not posted: {}", e.toString());
            }
        }

        @Override
        public void publish(Topology shown) {
            onTopology(() -> topology.publish(shown));
        }

        @Override
        public void withdraw() {
            onTopology(topology::withdraw);
        }

        @Override
        public void leave() {
            onTopology(topology::leave);
        }

        private void onTopology(Runnable change) {
            try {
                change.run();
            } catch (RuntimeException e) {
                LOG.warn("links and hosts not published to ONOS: {}", e.toString());
            }
        }
    }

    @Override
    public Optional<String> address() {
        return member.remoteLeader();
    }

    @Override
    public void check(long mandate) {
        member.checkOrder(mandate);
    }

    @Modified
    void modified(ComponentContext context) {
        Dictionary<?, ?> values = context.getProperties();
        answerTimeoutMs = positive(values, ANSWER_TIMEOUT_MS, answerTimeoutMs);
        lastRetryMs = positive(values, LAST_RETRY_MS, lastRetryMs);
    }

    /** The value given, or the old one if it is missing or not a positive number. */
    private static int positive(Dictionary<?, ?> values, String name, int old) {
        Integer value = Tools.getIntegerProperty(values, name);
        if (value == null || value <= 0) {
            LOG.warn("{}: expected a positive integer, got {}: {} unchanged", name, values.get(name), old);
            return old;
        }
        return value;
    }

    @Override
    public List<SystemResources<?>> apps() {
        return member.resources(() -> answerTimeoutMs);
    }

    // ---- for other applications of ONOS ----

    @Override
    public void addListener(SlotwiseListener listener) {
        listeners.addListener(listener);
    }

    @Override
    public void removeListener(SlotwiseListener listener) {
        listeners.removeListener(listener);
    }

    @Override
    public boolean isLeader() {
        try {
            return !member.apps().isEmpty();
        } catch (UnavailableException elsewhere) {
            return false;
        }
    }

    @Override
    public Set<String> applications() {
        return asked(() -> Set.copyOf(member.apps()));
    }

    @Override
    public Set<String> resources(String app) {
        return asked(() -> Set.copyOf(find(app).reads().keySet()));
    }

    @Override
    public String read(String app, String path) {
        return asked(() -> valid(() -> find(app).read(path).toString()));
    }

    @Override
    public String change(String app, String path, String json) {
        return asked(() -> valid(() -> find(app).change(path, JsonFields.parse(json.getBytes(StandardCharsets.UTF_8))).toString()));
    }

    @Override
    public void delete(String app, String path) {
        asked(() -> valid(() -> {
            find(app).delete(path);
            return path;
        }));
    }

    private SystemResources<?> find(String app) {
        return apps().stream().filter(known -> known.id().equals(app)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("unknown application '" + app + "'"));
    }

    /** Question that may be rejected as invalid. */
    private interface Question<T> {
        T ask() throws InvalidJsonException;
    }

    private static <T> T valid(Question<T> question) {
        try {
            return question.ask();
        } catch (InvalidJsonException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    private static <T> T asked(Supplier<T> question) {
        try {
            return question.get();
        } catch (UnavailableException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }
}

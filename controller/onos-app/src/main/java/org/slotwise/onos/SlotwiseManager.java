// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.onlab.util.Tools.groupedThreads;
import static org.slotwise.onos.OsgiPropertyConstants.ANSWER_TIMEOUT_MS;
import static org.slotwise.onos.OsgiPropertyConstants.ANSWER_TIMEOUT_MS_DEFAULT;
import static org.slotwise.onos.OsgiPropertyConstants.LAST_RETRY_MS;
import static org.slotwise.onos.OsgiPropertyConstants.LAST_RETRY_MS_DEFAULT;

import java.util.Dictionary;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.onlab.util.Tools;
import org.onosproject.cfg.ComponentConfigService;
import org.onosproject.cluster.ClusterService;
import org.onosproject.cluster.LeadershipService;
import org.onosproject.core.ApplicationId;
import org.onosproject.core.CoreService;
import org.onosproject.drivers.p4runtime.mirror.P4RuntimeTableMirror;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.device.DeviceService;
import org.onosproject.net.flow.FlowRuleService;
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
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.onos.flow.P4RuntimeTableReader;
import org.slotwise.rest.ControllerService;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.Snapshot;

/** The app's one component: takes ONOS's services and joins them to a {@link ClusterMember}. */
@Component(immediate = true, service = {ControllerService.class, RemoteLeader.class}, property = {
    ANSWER_TIMEOUT_MS + ":Integer=" + ANSWER_TIMEOUT_MS_DEFAULT,
    LAST_RETRY_MS + ":Integer=" + LAST_RETRY_MS_DEFAULT,
})
public final class SlotwiseManager implements ControllerService, RemoteLeader {
    /** Name of the application, as in {@code app.xml}. */
    public static final String APP_NAME = "org.slotwise.app";
    private static final Logger LOG = LoggerFactory.getLogger(SlotwiseManager.class);
    private static final int READERS = 4;
    private static final long END_TIMEOUT_S = 2;

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
        ApplicationId app = core.registerApplication(APP_NAME);
        properties.registerProperties(getClass());
        modified(context);
        thread = Executors.newSingleThreadScheduledExecutor(groupedThreads("slotwise", "controller", LOG));
        readers = Executors.newFixedThreadPool(READERS, groupedThreads("slotwise", "reader-%d", LOG));
        checks = Executors.newSingleThreadExecutor(groupedThreads("slotwise", "term", LOG));
        try {
            FlowRuleSwitches switches = new FlowRuleSwitches(devices, flowRules, packets, programs,
                    new P4RuntimeTableReader(p4runtime, translation.flowRuleTranslator(), mirror), app, readers, checks);
            member = new ClusterMember(new ClusterMember.Services(configuration, cluster, leadership, communication,
                    devices, packets, storage), app, switches, thread, () -> lastRetryMs);
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
        LOG.info("stopped; the switches keep their tables");
    }

    /** Nothing of the app runs when this returns, but for a thread that a switch does not let go. */
    private void end() {
        for (ExecutorService threads : List.of(thread, readers, checks)) {
            threads.shutdownNow();
        }
        try {
            for (ExecutorService threads : List.of(thread, readers, checks)) {
                if (!threads.awaitTermination(END_TIMEOUT_S, TimeUnit.SECONDS)) {
                    LOG.warn("a thread still waits for a switch or for the cluster");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        properties.unregisterProperties(getClass(), false);
    }

    @Override
    public Optional<String> address() {
        return member.remoteLeader();
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
            LOG.warn("{} must be a positive integer, got {}; {} stays", name, values.get(name), old);
            return old;
        }
        return value;
    }

    @Override
    public Snapshot snapshot() {
        return member.snapshot(answerTimeoutMs);
    }

    @Override
    public void choose(SchedulerChosen choice) {
        member.choose(choice);
    }
}

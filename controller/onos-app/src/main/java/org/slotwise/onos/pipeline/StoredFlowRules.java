// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Collectors;
import org.onlab.osgi.ServiceNotFoundException;
import org.onosproject.core.ApplicationId;
import org.onosproject.core.CoreService;
import org.onosproject.drivers.p4runtime.P4RuntimeFlowRuleProgrammable;
import org.onosproject.drivers.p4runtime.mirror.P4RuntimeTableMirror;
import org.onosproject.net.DeviceId;
import org.onosproject.net.flow.DefaultFlowEntry;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.FlowRuleService;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.runtime.PiHandle;
import org.onosproject.net.pi.runtime.PiTableEntry;
import org.onosproject.net.pi.runtime.PiTableEntryHandle;
import org.onosproject.net.pi.service.PiFlowRuleTranslator;
import org.onosproject.net.pi.service.PiPipeconfService;
import org.onosproject.net.pi.service.PiTranslatedEntity;
import org.onosproject.net.pi.service.PiTranslationException;
import org.onosproject.net.pi.service.PiTranslationService;
import org.onosproject.p4runtime.api.P4RuntimeClient;
import org.onosproject.p4runtime.api.P4RuntimeController;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.EntityUpdateResponse;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.EntityUpdateStatus;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.UpdateType;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.WriteRequest;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.WriteResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.onos.SlotwiseDevices;
import org.slotwise.onos.SlotwiseManager;
import org.slotwise.onos.flow.Order;
import org.slotwise.onos.flow.Orders;

/**
 * Writes what the leader ordered, all of it, and only while it leads. ONOS's driver leaves out what its mirror has already, which is a copy
 * that the nodes tell each other of, and the node that becomes a switch's master may have an old one. Here the mirror is a guess; what is
 * there, the switch answers. Rules of other applications are left to ONOS's driver.
 *
 * <p>ONOS is told that a switch has the rules that it thinks are there: it would write what is missing and delete what it does not know,
 * by that same copy, into the schedule in force. The app reads the switch itself before it writes.
 */
public final class StoredFlowRules extends P4RuntimeFlowRuleProgrammable {
    private static final Logger LOG = LoggerFactory.getLogger(StoredFlowRules.class);
    /** Held from the comparison of terms to the switch's answer: what the next leader writes first waits for it. */
    private static final ConcurrentMap<DeviceId, Object> TURNS = new ConcurrentHashMap<>();
    /** Whether the app to which this class belongs was active and is not any more. */
    private static volatile boolean hasEnded;

    /** Told by the app when it begins and when it ends. */
    public static void setEnded(boolean isEnded) {
        hasEnded = isEnded;
    }

    @Override
    public Collection<FlowEntry> getFlowEntries() {
        List<FlowEntry> entries = new ArrayList<>();
        for (FlowEntry rule : handler().get(FlowRuleService.class).getFlowEntries(data().deviceId())) {
            boolean isToBeThere = rule.state() == FlowEntry.FlowEntryState.ADDED || rule.state() == FlowEntry.FlowEntryState.PENDING_ADD;
            if (isToBeThere) {
                entries.add(new DefaultFlowEntry(rule, FlowEntry.FlowEntryState.ADDED, rule.life(), rule.packets(), rule.bytes()));
            }
        }
        return entries;
    }

    /** The rules that the switch has now as ordered; those that it has not, or that may not be written any more, are missing. */
    @Override
    public Collection<FlowRule> applyFlowRules(Collection<FlowRule> rules) {
        Map<Boolean, List<FlowRule>> isOurs = byOwner(rules);
        List<FlowRule> done = new ArrayList<>(isOurs.get(false).isEmpty() ? List.of() : super.applyFlowRules(isOurs.get(false)));
        Map<Long, List<FlowRule>> mandates = isOurs.get(true).stream().filter(rule -> Order.of(rule).isPresent())
                .collect(Collectors.groupingBy(rule -> Order.of(rule).orElseThrow().mandate()));
        mandates.forEach((mandate, ordered) -> {
            try {
                done.addAll(new Batch().apply(mandate, ordered));
            } catch (PiTranslationException | RuntimeException e) {
                LOG.warn("{}: {} rules not written: {}", data().deviceId(), ordered.size(), e.toString());
            }
        });
        return done;
    }

    /** An entry of ours is deleted by a rule that says so; removing that, or any other of ours, is a matter of ONOS's store. */
    @Override
    public Collection<FlowRule> removeFlowRules(Collection<FlowRule> rules) {
        Map<Boolean, List<FlowRule>> isOurs = byOwner(rules);
        List<FlowRule> done = new ArrayList<>(isOurs.get(true));
        if (!isOurs.get(false).isEmpty()) {
            done.addAll(super.removeFlowRules(isOurs.get(false)));
        }
        return done;
    }

    private Map<Boolean, List<FlowRule>> byOwner(Collection<FlowRule> rules) {
        int app = app().id();
        return rules.stream().collect(Collectors.partitioningBy(rule -> rule.appId() == app));
    }

    private ApplicationId app() {
        return handler().get(CoreService.class).getAppId(SlotwiseManager.APP_NAME);
    }

    /** Rules of one leader for one switch, and what is needed to write them. */
    private final class Batch {
        private final DeviceId device = data().deviceId();
        private final ApplicationId app = app();
        private final P4RuntimeTableMirror mirror = handler().get(P4RuntimeTableMirror.class);
        private final PiFlowRuleTranslator translator = handler().get(PiTranslationService.class).flowRuleTranslator();
        private final PiPipeconf program = handler().get(PiPipeconfService.class).getPipeconf(device)
                .orElseThrow(() -> new IllegalStateException("the switch has no pipeconf"));
        private final Map<PiHandle, FlowRule> ruleOf = new HashMap<>();

        Collection<FlowRule> apply(long mandate, List<FlowRule> rules) throws PiTranslationException {
            Map<PiTableEntryHandle, PiTableEntry> entries = new HashMap<>();
            Map<PiTableEntryHandle, UpdateType> updates = new HashMap<>();
            List<FlowRule> done = new ArrayList<>();
            synchronized (TURNS.computeIfAbsent(device, any -> new Object())) {
                for (FlowRule rule : rules) {
                    PiTableEntry entry = translator.translate(Order.plain(rule, app), program);
                    PiTableEntryHandle handle = entry.handle(device);
                    ruleOf.put(handle, rule);
                    entries.put(handle, entry);
                    switch (Order.of(rule).orElseThrow().kind()) {
                        case WRITE:
                            boolean isThere = entry.isDefaultAction() || mirror.get(handle) != null;
                            updates.put(handle, isThere ? UpdateType.MODIFY : UpdateType.INSERT);
                            break;
                        case DELETE:
                            updates.put(handle, UpdateType.DELETE);
                            break;
                        default:
                            learn(rule, handle, entry);
                            mirror.put(handle, entry);
                            done.add(rule);
                            break;
                    }
                }
                if (!updates.isEmpty()) {
                    compare(mandate);
                    done.addAll(write(entries, updates));
                }
            }
            return done;
        }

        /**
         * ONOS keeps this class for a switch when the app is exchanged; it knows no service of the next one, whose leader has compared.
         * Where the app is yet to begin nothing is written.
         */
        private void compare(long mandate) {
            Orders orders;
            try {
                orders = handler().get(Orders.class);
            } catch (ServiceNotFoundException e) {
                if (!hasEnded) {
                    throw e;
                }
                LOG.warn("{}: writing without term check until ONOS restarts: {}", device, e.getMessage());
                return;
            }
            orders.check(mandate);
        }

        private void learn(FlowRule rule, PiTableEntryHandle handle, PiTableEntry entry) {
            translator.learn(handle, new PiTranslatedEntity<>(Order.plain(rule, app), entry, handle));
        }

        /** Writes, and writes those anew of which the switch says that they are there, or are not, against the guess. */
        private List<FlowRule> write(Map<PiTableEntryHandle, PiTableEntry> entries, Map<PiTableEntryHandle, UpdateType> updates) {
            List<FlowRule> done = new ArrayList<>();
            Map<PiTableEntryHandle, UpdateType> wrong = new HashMap<>();
            for (EntityUpdateResponse answer : submit(entries, updates).all()) {
                PiTableEntryHandle handle = (PiTableEntryHandle) answer.handle();
                Optional<UpdateType> next = otherwise(answer);
                if (isDone(answer)) {
                    done.add(written(answer, handle, entries));
                } else if (next.isPresent()) {
                    wrong.put(handle, next.get());
                }
            }
            if (!wrong.isEmpty()) {
                LOG.info("{}: {} of {} entries differ from the mirror of this node: written again", device, wrong.size(), updates.size());
                for (EntityUpdateResponse answer : submit(entries, wrong).all()) {
                    if (isDone(answer)) {
                        done.add(written(answer, (PiTableEntryHandle) answer.handle(), entries));
                    }
                }
            }
            return done;
        }

        private WriteResponse submit(Map<PiTableEntryHandle, PiTableEntry> entries, Map<PiTableEntryHandle, UpdateType> updates) {
            P4RuntimeClient client = handler().get(P4RuntimeController.class).get(device);
            if (client == null) {
                throw new IllegalStateException("ONOS has no P4Runtime client");
            }
            WriteRequest request = client.write(SlotwiseDevices.p4runtime(device).orElseThrow().value(), program);
            updates.forEach((handle, type) -> {
                if (type == UpdateType.DELETE) {
                    request.delete(handle);
                } else {
                    request.entity(entries.get(handle), type);
                }
            });
            return request.submitSync();
        }

        private FlowRule written(EntityUpdateResponse answer, PiTableEntryHandle handle, Map<PiTableEntryHandle, PiTableEntry> entries) {
            FlowRule rule = ruleOf.get(handle);
            if (answer.updateType() == UpdateType.DELETE) {
                translator.forget(handle);
                mirror.remove(handle);
            } else {
                learn(rule, handle, entries.get(handle));
                mirror.put(handle, entries.get(handle));
            }
            return rule;
        }
    }

    private static boolean isDone(EntityUpdateResponse answer) {
        return answer.isSuccess() || answer.updateType() == UpdateType.DELETE && answer.status() == EntityUpdateStatus.NOT_FOUND;
    }

    private static Optional<UpdateType> otherwise(EntityUpdateResponse answer) {
        if (answer.updateType() == UpdateType.INSERT && answer.status() == EntityUpdateStatus.ALREADY_EXIST) {
            return Optional.of(UpdateType.MODIFY);
        }
        return answer.updateType() == UpdateType.MODIFY && answer.status() == EntityUpdateStatus.NOT_FOUND
                ? Optional.of(UpdateType.INSERT) : Optional.empty();
    }
}

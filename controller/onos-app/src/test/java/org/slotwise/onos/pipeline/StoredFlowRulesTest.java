// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.onlab.osgi.ServiceNotFoundException;
import org.onosproject.core.ApplicationId;
import org.onosproject.core.CoreService;
import org.onosproject.core.DefaultApplicationId;
import org.onosproject.drivers.p4runtime.mirror.P4RuntimeTableMirror;
import org.onosproject.drivers.p4runtime.mirror.TimedEntry;
import org.onosproject.net.DeviceId;
import org.onosproject.net.driver.DefaultDriver;
import org.onosproject.net.driver.DefaultDriverData;
import org.onosproject.net.driver.DefaultDriverHandler;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.criteria.Criterion;
import org.onosproject.net.flow.criteria.PiCriterion;
import org.onosproject.net.flow.instructions.PiInstruction;
import org.onosproject.net.pi.PiPipeconfServiceAdapter;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiTableId;
import org.onosproject.net.pi.runtime.PiEntity;
import org.onosproject.net.pi.runtime.PiMatchKey;
import org.onosproject.net.pi.runtime.PiTableEntry;
import org.onosproject.net.pi.service.PiFlowRuleTranslator;
import org.onosproject.net.pi.service.PiPipeconfService;
import org.onosproject.net.pi.service.PiTranslationService;
import org.onosproject.p4runtime.api.P4RuntimeClient;
import org.onosproject.p4runtime.api.P4RuntimeController;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.EntityUpdateResponse;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.EntityUpdateStatus;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.UpdateType;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.WriteRequest;
import org.onosproject.p4runtime.api.P4RuntimeWriteClient.WriteResponse;
import org.onosproject.store.service.StorageException;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.onos.flow.Fence;
import org.slotwise.onos.flow.Order;
import org.slotwise.onos.flow.Orders;
import org.slotwise.onos.flow.ProgramNames;
import org.slotwise.onos.flow.RuleTranslator;

/** The driver of a switch at its master, whose mirror may be wrong and whose batches may be late. */
class StoredFlowRulesTest {
    private static final long MANDATE = 7;
    private static final DeviceId DEVICE = DeviceId.deviceId("device:slotwise:1");
    private static final ApplicationId APP = new DefaultApplicationId(42, "org.slotwise.app");

    private final Map<Object, PiTableEntry> onSwitch = new LinkedHashMap<>();
    private final Map<Object, PiTableEntry> mirror = new HashMap<>();
    private final List<String> requests = new ArrayList<>();
    private final Map<Class<?>, Object> services = new HashMap<>();
    private PiPipeconf program;
    private RuleTranslator rules;
    private ProgramNames names;
    private StoredFlowRules driver;

    @BeforeEach
    void makeDriver() throws Exception {
        program = Programs.load("edge");
        rules = new RuleTranslator(APP);
        names = new ProgramNames(program.pipelineModel());
        services.put(CoreService.class, of(CoreService.class, (method, arguments) -> APP));
        services.put(P4RuntimeTableMirror.class, of(P4RuntimeTableMirror.class, this::onMirror));
        PiFlowRuleTranslator translator = of(PiFlowRuleTranslator.class,
                (method, arguments) -> method.equals("translate") ? translate((FlowRule) arguments[0]) : null);
        services.put(PiTranslationService.class, of(PiTranslationService.class, (method, arguments) -> translator));
        services.put(PiPipeconfService.class, new PiPipeconfServiceAdapter() {
            @Override
            public Optional<PiPipeconf> getPipeconf(DeviceId device) {
                return Optional.of(program);
            }
        });
        P4RuntimeClient client = of(P4RuntimeClient.class, (method, arguments) -> request());
        services.put(P4RuntimeController.class, of(P4RuntimeController.class, (method, arguments) -> client));
        inForce(MANDATE);
        StoredFlowRules.setEnded(false);
        driver = new StoredFlowRules();
        DefaultDriverData data = new DefaultDriverData(new DefaultDriver("slotwise", List.of(), "", "", "", Map.of(), Map.of()), DEVICE);
        driver.setData(data);
        driver.setHandler(new DefaultDriverHandler(data) {
            @Override
            public <T> T get(Class<T> service) {
                return service.cast(Optional.ofNullable(services.get(service))
                        .orElseThrow(() -> new ServiceNotFoundException(service.getName())));
            }
        });
    }

    private void inForce(long mandate) {
        services.put(Orders.class, (Orders) asked -> {
            if (asked != mandate) {
                throw new Fence.SupersededException("current mandate is " + mandate + ", not " + asked);
            }
        });
    }

    private static <T> T of(Class<T> type, BiFunction<String, Object[], Object> answer) {
        return type.cast(Proxy.newProxyInstance(StoredFlowRulesTest.class.getClassLoader(), new Class<?>[] {type},
                (proxy, method, arguments) -> answer.apply(method.getName(), arguments)));
    }

    private Object onMirror(String method, Object[] arguments) {
        switch (method) {
            case "get":
                return mirror.containsKey(arguments[0]) ? timed(mirror.get(arguments[0])) : null;
            case "put":
                mirror.put(arguments[0], (PiTableEntry) arguments[1]);
                return null;
            case "remove":
                mirror.remove(arguments[0]);
                return null;
            default:
                throw new AssertionError(method);
        }
    }

    /** ONOS's alone may make one. */
    private static Object timed(PiTableEntry entry) {
        try {
            Constructor<?> constructor = TimedEntry.class.getDeclaredConstructor(long.class, PiEntity.class);
            constructor.setAccessible(true);
            return constructor.newInstance(0L, entry);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** As ONOS's, which takes no rule with more than an action of the program. */
    private static PiTableEntry translate(FlowRule rule) {
        assertEquals(Optional.empty(), Order.of(rule), "ONOS's translator got an order");
        PiCriterion key = (PiCriterion) rule.selector().getCriterion(Criterion.Type.PROTOCOL_INDEPENDENT);
        return PiTableEntry.builder().forTable((PiTableId) rule.table())
                .withMatchKey(PiMatchKey.builder().addFieldMatches(key.fieldMatches()).build())
                .withAction(((PiInstruction) rule.treatment().allInstructions().get(0)).action()).build();
    }

    /** A request to a switch that says what P4Runtime says. */
    private WriteRequest request() {
        List<EntityUpdateResponse> answers = new ArrayList<>();
        return of(WriteRequest.class, (method, arguments) -> {
            switch (method) {
                case "entity":
                    PiTableEntry entry = (PiTableEntry) arguments[0];
                    answers.add(update(entry.handle(DEVICE), entry, (UpdateType) arguments[1]));
                    return null;
                case "delete":
                    answers.add(update(arguments[0], null, UpdateType.DELETE));
                    return null;
                case "submitSync":
                    return of(WriteResponse.class, (asked, none) -> answers);
                default:
                    throw new AssertionError(method);
            }
        });
    }

    private EntityUpdateResponse update(Object handle, PiTableEntry entry, UpdateType type) {
        requests.add(type.name());
        boolean isThere = onSwitch.containsKey(handle);
        EntityUpdateStatus status = type == UpdateType.INSERT && isThere ? EntityUpdateStatus.ALREADY_EXIST
                : type != UpdateType.INSERT && !isThere ? EntityUpdateStatus.NOT_FOUND : EntityUpdateStatus.OK;
        if (status == EntityUpdateStatus.OK && type == UpdateType.DELETE) {
            onSwitch.remove(handle);
        } else if (status == EntityUpdateStatus.OK) {
            onSwitch.put(handle, entry);
        }
        Map<String, Object> answer = Map.of(
                "handle", handle, "updateType", type, "status", status, "isSuccess", status == EntityUpdateStatus.OK);
        return of(EntityUpdateResponse.class, (method, arguments) -> answer.get(method));
    }

    private FlowRule rule(int slot, int queue) {
        return rules.rule(DEVICE, TableEntry.in("slot_schedule").exact("core", 0).exact("bank", 0).exact("slot", slot)
                .action("grant").param("queue", queue).build(), names);
    }

    private static FlowRule ordered(FlowRule rule, long mandate, Order.Kind kind) {
        return Order.order(rule, APP, mandate, kind);
    }

    private Collection<FlowRule> apply(long mandate, Order.Kind kind, FlowRule... plain) {
        List<FlowRule> ordered = new ArrayList<>();
        for (FlowRule rule : plain) {
            ordered.add(ordered(rule, mandate, kind));
        }
        return driver.applyFlowRules(ordered);
    }

    private static PiTableEntry put(Map<Object, PiTableEntry> place, FlowRule rule) {
        PiTableEntry entry = translate(rule);
        place.put(entry.handle(DEVICE), entry);
        return entry;
    }

    private Set<PiTableEntry> entries() {
        return new HashSet<>(onSwitch.values());
    }

    @Test
    void whatTheMirrorHasIsWrittenAllTheSame() {
        put(onSwitch, rule(3, 1));
        put(mirror, rule(3, 2));
        put(mirror, rule(4, 2));
        assertEquals(2, apply(MANDATE, Order.Kind.WRITE, rule(3, 2), rule(4, 2)).size());
        assertEquals(Set.of(translate(rule(3, 2)), translate(rule(4, 2))), entries());
        assertEquals(List.of("INSERT", "MODIFY", "MODIFY"), requests.stream().sorted().collect(Collectors.toList()));
    }

    @Test
    void whatTheMirrorLacksIsWrittenOverAndDeleted() {
        put(onSwitch, rule(3, 1));
        put(onSwitch, rule(5, 1));
        assertEquals(1, apply(MANDATE, Order.Kind.WRITE, rule(3, 2)).size());
        assertEquals(1, apply(MANDATE, Order.Kind.DELETE, rule(5, 1)).size());
        assertEquals(Set.of(translate(rule(3, 2))), entries());
        assertEquals(List.of("INSERT", "MODIFY", "DELETE"), requests);
        assertEquals(Map.copyOf(onSwitch), mirror);
    }

    @Test
    void whatIsToBeDeletedAndIsNotThereIsDone() {
        put(mirror, rule(5, 1));
        assertEquals(1, apply(MANDATE, Order.Kind.DELETE, rule(5, 1)).size());
        assertEquals(Map.of(), mirror);
    }

    @Test
    void aLateBatchOfAFormerLeaderChangesNothing() {
        put(onSwitch, rule(3, 1));
        put(onSwitch, rule(5, 1));
        inForce(MANDATE + 1);
        assertEquals(List.of(), List.copyOf(apply(MANDATE, Order.Kind.WRITE, rule(3, 2), rule(4, 2))));
        assertEquals(List.of(), List.copyOf(apply(MANDATE, Order.Kind.DELETE, rule(5, 1))));
        assertEquals(List.of(), requests);
        assertEquals(Map.of(), mirror);
        assertEquals(1, apply(MANDATE + 1, Order.Kind.WRITE, rule(4, 2)).size());
    }

    @Test
    void nothingIsWrittenWhileTheTermCannotBeCompared() {
        services.put(Orders.class, (Orders) mandate -> {
            throw new StorageException.Timeout();
        });
        assertEquals(List.of(), List.copyOf(apply(MANDATE, Order.Kind.WRITE, rule(4, 2))));
        assertEquals(List.of(), requests);
    }

    @Test
    void theDriverOfAnAppThatWasExchangedWritesForTheNext() {
        services.remove(Orders.class);
        StoredFlowRules.setEnded(true);
        assertEquals(1, apply(MANDATE, Order.Kind.WRITE, rule(4, 2)).size());
    }

    @Test
    void whereTheAppIsYetToBeginNothingIsWritten() {
        services.remove(Orders.class);
        assertEquals(List.of(), List.copyOf(apply(MANDATE, Order.Kind.WRITE, rule(4, 2))));
        assertEquals(List.of(), requests);
    }

    @Test
    void whatWasReadIsKnownAndNotWritten() {
        FlowRule old = ordered(rule(3, 1), MANDATE - 1, Order.Kind.WRITE);
        assertEquals(1, apply(MANDATE, Order.Kind.KNOWN, rule(3, 2)).size());
        assertEquals(Set.of(translate(rule(3, 2))), Set.copyOf(mirror.values()));
        assertEquals(1, driver.removeFlowRules(List.of(old)).size());
        assertEquals(List.of(), List.copyOf(driver.applyFlowRules(List.of(rule(4, 1)))), "nobody ordered it");
        assertEquals(List.of(), requests);
    }

    @Test
    void withoutAConnectionNothingIsWritten() {
        services.put(P4RuntimeController.class, of(P4RuntimeController.class, (method, arguments) -> null));
        assertEquals(List.of(), List.copyOf(apply(MANDATE, Order.Kind.WRITE, rule(4, 2))));
        assertEquals(Map.of(), mirror);
    }
}

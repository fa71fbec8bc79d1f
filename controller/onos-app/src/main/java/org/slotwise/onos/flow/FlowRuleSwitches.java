// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.DeviceId;
import org.onosproject.net.PortNumber;
import org.onosproject.net.device.DeviceService;
import org.onosproject.net.flow.DefaultTrafficTreatment;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.FlowRuleOperations;
import org.onosproject.net.flow.FlowRuleOperationsContext;
import org.onosproject.net.flow.FlowRuleService;
import org.onosproject.net.packet.DefaultOutboundPacket;
import org.onosproject.net.packet.PacketService;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.service.PiPipeconfService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.onos.SlotwiseDevices;

/**
 * Switches through ONOS's flow rule and packet services. ONOS forgets all flow rules when it ends, the switches do
 * not: so what a switch holds is read from it and becomes flow rules again before the controller sees it.
 */
public final class FlowRuleSwitches {
    private static final Logger LOG = LoggerFactory.getLogger(FlowRuleSwitches.class);
    /** ONOS's own limits are shorter; without an answer after this one there will be none. */
    private static final long ANSWER_TIMEOUT_S = 120;
    /** A packet goes out without asking the cluster again if it was asked so short a time ago. */
    private static final long LEASE_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private final DeviceService devices;
    private final FlowRuleService flowRules;
    private final PacketService packets;
    private final PiPipeconfService programs;
    private final TableReader reader;
    private final MeterWriter meters;
    private final OtherMaster otherMaster;
    private final ApplicationId app;
    private final RuleTranslator translator;
    private final Executor readers;
    private final Executor checks;
    /** Completes when what was begun last with a switch is over, whichever leader of this node began it. */
    private final ConcurrentMap<org.slotwise.control.topology.DeviceId, CompletableFuture<Void>> last = new ConcurrentHashMap<>();

    /**
     * Takes ONOS's services, what reads tables and sets meters, what is done about rules that stand still, and the owner of all rules.
     *
     * @param readers threads that may wait for a switch or for the cluster
     * @param checks a thread that may wait for the cluster
     */
    public FlowRuleSwitches(DeviceService devices, FlowRuleService flowRules, PacketService packets,
            PiPipeconfService programs, TableReader reader, MeterWriter meters, OtherMaster otherMaster, ApplicationId app,
            Executor readers, Executor checks) {
        this.devices = devices;
        this.flowRules = flowRules;
        this.packets = packets;
        this.programs = programs;
        this.reader = reader;
        this.meters = meters;
        this.otherMaster = otherMaster;
        this.app = app;
        this.translator = new RuleTranslator(app);
        this.readers = readers;
        this.checks = checks;
    }

    /** The switches for one leader, as long as {@code fence} lets it. */
    public OnosSwitches under(Fence fence) {
        return new Fenced(fence);
    }

    /**
     * Begins something with a switch when all before it is over: a batch of a leader that ended may still be on its way through
     * ONOS, and who reads before it has arrived knows tables that the switch does not have for long.
     */
    private <T> CompletableFuture<T> inOrder(
            org.slotwise.control.topology.DeviceId device, Supplier<CompletableFuture<T>> action) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        CompletableFuture<Void> before = last.put(device, over);
        CompletableFuture<T> done = (before == null ? CompletableFuture.<Void>completedFuture(null) : before)
                .thenCompose(turn -> action.get());
        done.whenComplete((result, error) -> over.complete(null));
        return done;
    }

    private Map<String, TableEntry> readTables(org.slotwise.control.topology.DeviceId device) {
        DeviceId id = SlotwiseDevices.onos(device);
        Map<String, TableEntry> present = new LinkedHashMap<>();
        for (TableEntry entry : reader.read(device, program(id), rules(id))) {
            present.put(keyOf(entry), entry);
        }
        return present;
    }

    /**
     * Makes rules of what the switch has, and forgets those of which it has nothing: a switch that started anew lost its
     * tables, and ONOS would install the old ones when it likes, whatever the controller knows and has written since.
     */
    private FlowRuleOperations.Builder adopt(
            org.slotwise.control.topology.DeviceId device, Map<String, TableEntry> present, long mandate) {
        DeviceId id = SlotwiseDevices.onos(device);
        TableReader.RuleOf rules = rules(id);
        FlowRuleOperations.Builder operations = FlowRuleOperations.builder();
        present.values().forEach(entry -> operations.add(Order.order(rules.of(entry), app, mandate, Order.Kind.KNOWN)));
        for (FlowEntry rule : flowRules.getFlowEntries(id)) {
            if (rule.appId() == app.id() && RuleTranslator.entry(rule).filter(entry -> !entry.isDefault())
                    .filter(entry -> !present.containsKey(keyOf(entry))).isPresent()) {
                operations.remove(rule);
            }
        }
        return operations;
    }

    /**
     * Writes an entry again as it was read. It waits for a batch of a leader before that is being written at the switch's master, and
     * when the switch has taken it from the master, it takes nothing any more from one before. So who reads after it reads all that
     * a leader before has written.
     */
    private FlowRuleOperations.Builder barrier(org.slotwise.control.topology.DeviceId device, TableEntry entry, long mandate) {
        return FlowRuleOperations.builder()
                .add(Order.order(rules(SlotwiseDevices.onos(device)).of(entry), app, mandate, Order.Kind.WRITE));
    }

    private static String keyOf(TableEntry entry) {
        return entry.table() + entry.matches();
    }

    /** One for many entries: ONOS reads which program a switch has from a map of the whole cluster. */
    private TableReader.RuleOf rules(DeviceId device) {
        ProgramNames names = new ProgramNames(program(device).pipelineModel());
        return entry -> translator.rule(device, entry, names);
    }

    private PiPipeconf program(DeviceId device) {
        return Stores.ask(() -> programs.getPipeconf(device))
                .orElseThrow(() -> new SwitchUnavailableException(device + " has no pipeconf"));
    }

    private final class Fenced implements OnosSwitches {
        private final Fence fence;
        private volatile long checkedNs = System.nanoTime() - LEASE_NS;

        Fenced(Fence fence) {
            this.fence = fence;
        }

        @Override
        public boolean isAvailable(org.slotwise.control.topology.DeviceId device) {
            return devices.isAvailable(SlotwiseDevices.onos(device));
        }

        @Override
        public Map<Integer, Boolean> ports(org.slotwise.control.topology.DeviceId device) {
            Map<Integer, Boolean> ports = new TreeMap<>();
            devices.getPorts(SlotwiseDevices.onos(device)).forEach(port -> ports.put((int) port.number().toLong(), port.isEnabled()));
            return ports;
        }

        @Override
        public CompletableFuture<List<TableEntry>> read(org.slotwise.control.topology.DeviceId device) {
            return inOrder(device, () -> CompletableFuture.supplyAsync(() -> readTables(device), readers)
                    .thenCompose(present -> present.isEmpty() ? CompletableFuture.completedFuture(present)
                            : apply(device, barrier(device, present.values().iterator().next(), fence.mandate()))
                                    .thenApplyAsync(done -> readTables(device), readers))
                    .thenApply(present -> {
                        if (present.isEmpty()) {
                            fence.hasNoTables(device);
                        }
                        return present;
                    })
                    .thenCompose(present -> apply(device, adopt(device, present, fence.mandate()))
                            .thenApply(done -> new ArrayList<>(present.values()))));
        }

        @Override
        public CompletableFuture<Void> write(org.slotwise.control.topology.DeviceId device, List<Update> updates) {
            TableReader.RuleOf rules = rules(SlotwiseDevices.onos(device));
            FlowRuleOperations.Builder operations = FlowRuleOperations.builder();
            List<FlowRule> deleted = new ArrayList<>();
            List<Update> cells = new ArrayList<>();
            for (Update update : updates) {
                if (MeterCell.is(update.entry())) {
                    cells.add(update);
                    continue;
                }
                boolean isDelete = update.type() == Update.Type.DELETE;
                Order.Kind kind = isDelete ? Order.Kind.DELETE : Order.Kind.WRITE;
                FlowRule rule = Order.order(rules.of(update.entry()), app, fence.mandate(), kind);
                operations.add(rule);
                if (isDelete) {
                    deleted.add(rule);
                }
            }
            if (!deleted.isEmpty()) {
                operations.newStage();
                deleted.forEach(operations::remove);
            }
            return inOrder(device, () -> cells.isEmpty() ? apply(device, operations)
                    : apply(device, operations).thenCompose(done -> checked())
                            .thenCompose(may -> meters.write(device, program(SlotwiseDevices.onos(device)), cells)
                                    // A copy: whoever answers late must not find it answered.
                                    .copy().orTimeout(ANSWER_TIMEOUT_S, TimeUnit.SECONDS)));
        }

        private CompletableFuture<Void> apply(
                org.slotwise.control.topology.DeviceId device, FlowRuleOperations.Builder operations) {
            return checked().thenCompose(may -> {
                CompletableFuture<Void> done = new CompletableFuture<>();
                FlowRuleOperations batch = operations.build(new FlowRuleOperationsContext() {
                    @Override
                    public void onSuccess(FlowRuleOperations succeeded) {
                        LOG.debug("device {}: flow rules installed, {}", device, fence);
                        done.complete(null);
                    }

                    @Override
                    public void onError(FlowRuleOperations failed) {
                        done.completeExceptionally(new SwitchUnavailableException(
                                "device " + device + ": " + rulesOf(failed) + " flow rules rejected; see ONOS's log"));
                    }
                });
                LOG.debug("device {}: {} flow rules passed to ONOS, {}", device, rulesOf(batch), fence);
                flowRules.apply(batch);
                otherMaster.watch(done, SlotwiseDevices.onos(device), readers);
                return done.orTimeout(ANSWER_TIMEOUT_S, TimeUnit.SECONDS);
            });
        }

        private CompletableFuture<Void> checked() {
            return CompletableFuture.runAsync(() -> {
                long nowNs = System.nanoTime();
                fence.check();
                checkedNs = nowNs;
            }, checks);
        }

        @Override
        public void send(org.slotwise.control.topology.DeviceId device, int port, byte[] frame) {
            boolean isToBeKept = fence.isToBeKept(frame);
            if (!isToBeKept && System.nanoTime() - checkedNs < LEASE_NS && fence.isOpen()) {
                emit(device, port, frame);
                return;
            }
            CompletableFuture<Void> may = isToBeKept ? checked().thenRunAsync(() -> fence.keep(frame), checks) : checked();
            may.thenRun(() -> emit(device, port, frame)).whenComplete((sent, error) -> {
                if (error != null) {
                    LOG.warn("device {}: packet not sent: {}", device, error.getMessage());
                }
            });
        }
    }

    private static int rulesOf(FlowRuleOperations operations) {
        return operations.stages().stream().mapToInt(Set::size).sum();
    }

    private void emit(org.slotwise.control.topology.DeviceId device, int port, byte[] frame) {
        packets.emit(new DefaultOutboundPacket(SlotwiseDevices.onos(device),
                DefaultTrafficTreatment.builder().setOutput(PortNumber.portNumber(port)).build(),
                ByteBuffer.wrap(frame)));
    }
}

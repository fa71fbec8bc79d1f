// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Function;
import org.onlab.packet.Ethernet;
import org.onlab.packet.IpAddress;
import org.onosproject.cluster.ClusterServiceAdapter;
import org.onosproject.cluster.ControllerNode;
import org.onosproject.cluster.DefaultControllerNode;
import org.onosproject.cluster.Leader;
import org.onosproject.cluster.Leadership;
import org.onosproject.cluster.LeadershipEvent;
import org.onosproject.cluster.LeadershipEventListener;
import org.onosproject.cluster.LeadershipServiceAdapter;
import org.onosproject.cluster.NodeId;
import org.onosproject.cluster.RoleInfo;
import org.onosproject.core.ApplicationId;
import org.onosproject.core.DefaultApplicationId;
import org.onosproject.mastership.MastershipAdminService;
import org.onosproject.mastership.MastershipServiceAdapter;
import org.onosproject.net.ConnectPoint;
import org.onosproject.net.DefaultDevice;
import org.onosproject.net.DefaultPort;
import org.onosproject.net.Device;
import org.onosproject.net.DeviceId;
import org.onosproject.net.MastershipRole;
import org.onosproject.net.Port;
import org.onosproject.net.PortNumber;
import org.onosproject.net.config.Config;
import org.onosproject.net.config.ConfigFactory;
import org.onosproject.net.config.NetworkConfigEvent;
import org.onosproject.net.config.NetworkConfigListener;
import org.onosproject.net.config.NetworkConfigRegistryAdapter;
import org.onosproject.net.device.DeviceEvent;
import org.onosproject.net.device.DeviceListener;
import org.onosproject.net.device.DeviceServiceAdapter;
import org.onosproject.net.flow.DefaultFlowEntry;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.FlowRuleOperation;
import org.onosproject.net.flow.FlowRuleOperations;
import org.onosproject.net.flow.FlowRuleServiceAdapter;
import org.onosproject.net.packet.DefaultInboundPacket;
import org.onosproject.net.packet.OutboundPacket;
import org.onosproject.net.packet.PacketContextAdapter;
import org.onosproject.net.packet.PacketProcessor;
import org.onosproject.net.packet.PacketServiceAdapter;
import org.onosproject.net.pi.PiPipeconfServiceAdapter;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.provider.ProviderId;
import org.onosproject.p4runtime.model.P4InfoParserException;
import org.onosproject.store.cluster.messaging.ClusterCommunicationServiceAdapter;
import org.onosproject.store.cluster.messaging.MessageSubject;
import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.ConsistentMapBuilder;
import org.onosproject.store.service.StorageException;
import org.onosproject.store.service.TestConsistentMap;
import org.onosproject.store.service.TestStorageService;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.Topology;
import org.slotwise.onos.api.SlotwiseEvent;
import org.slotwise.onos.flow.MeterWriter;
import org.slotwise.onos.flow.Order;
import org.slotwise.onos.flow.OtherMaster;
import org.slotwise.onos.pipeline.Programs;

/** ONOS's services on one node, as its own test adapters have them, over switches that obey at once. */
final class FakeOnos {
    static final ApplicationId APP = new DefaultApplicationId(42, SlotwiseManager.APP_NAME);
    static final NodeId LOCAL = new NodeId("local");
    static final NodeId OTHER = new NodeId("other");
    private static final long PATIENCE_MS = 3_600_000;

    final FlowRules flowRules = new FlowRules();
    final Packets packets = new Packets();
    /** Cells of meters that were written, by switch. */
    final Map<org.slotwise.control.topology.DeviceId, List<Update>> metered = new LinkedHashMap<>();
    /** How many of the next writes of cells are refused. */
    int refusedCells;
    final MeterWriter meters = (device, program, cells) -> {
        metered.computeIfAbsent(device, any -> new ArrayList<>()).addAll(cells);
        return refusedCells-- > 0 ? CompletableFuture.failedFuture(new IllegalStateException("cells were refused"))
                : CompletableFuture.completedFuture(null);
    };
    /** Switches that were given to the other node, the only one that may become their master. */
    final BlockingQueue<DeviceId> givenAway = new LinkedBlockingQueue<>();
    /** How often the other node is not there when it is looked for. */
    int timesAway;
    final OtherMaster otherMaster = otherMaster(PATIENCE_MS);
    final Devices devices = new Devices();
    final Leaders leadership = new Leaders();
    final Configuration configuration = new Configuration();
    final Messages messages = new Messages();
    final Pipeconfs programs = new Pipeconfs();
    final Storage storage = new Storage();
    final List<SlotwiseEvent> events = new ArrayList<>();
    final List<Topology> published = new ArrayList<>();
    final List<String> shown = new ArrayList<>();
    final Publisher publisher = new Publisher() {
        @Override
        public void post(SlotwiseEvent event) {
            events.add(event);
        }

        @Override
        public void publish(Topology topology) {
            published.add(topology);
        }

        @Override
        public void withdraw() {
            shown.add("withdrawn");
        }

        @Override
        public void leave() {
            shown.add("left");
        }
    };
    final ClusterServiceAdapter cluster = new ClusterServiceAdapter() {
        @Override
        public ControllerNode getLocalNode() {
            return getNode(LOCAL);
        }

        @Override
        public ControllerNode getNode(NodeId id) {
            return new DefaultControllerNode(id, IpAddress.valueOf(id.equals(LOCAL) ? "127.0.0.1" : "192.0.2.7"));
        }
    };

    OtherMaster otherMaster(long patienceMs) {
        MastershipServiceAdapter masters = new MastershipServiceAdapter() {
            @Override
            public RoleInfo getNodesFor(DeviceId device) {
                return new RoleInfo(LOCAL, timesAway-- > 0 ? List.of() : List.of(OTHER));
            }
        };
        MastershipAdminService changes = new MastershipAdminService() {
            @Override
            public CompletableFuture<Void> setRole(NodeId node, DeviceId device, MastershipRole role) {
                assertEquals(OTHER, node);
                assertEquals(MastershipRole.MASTER, role);
                givenAway.add(device);
                return CompletableFuture.completedFuture(null);
            }

            @Override
            public void balanceRoles() {
                throw new AssertionError("nobody asked for it");
            }
        };
        return new OtherMaster(masters, changes, patienceMs);
    }

    ClusterServices services() {
        return new ClusterServices(
                configuration, cluster, leadership, messages, devices, packets, storage);
    }

    /** The example that every language tests. */
    static JsonNode exampleNetwork() throws IOException {
        return new ObjectMapper().readTree(Path.of("../../schema/examples/network-star4.json").toFile());
    }

    /** Rules by switch: ONOS has what the switch has, unless that lost its tables. */
    static final class FlowRules extends FlowRuleServiceAdapter {
        final Map<DeviceId, Set<FlowRule>> rules = new LinkedHashMap<>();
        private final Map<DeviceId, Set<FlowRule>> stored = new LinkedHashMap<>();
        final Set<DeviceId> refusing = new HashSet<>();
        /** What was handed over and is not carried out yet; null where that happens at once. */
        List<Runnable> held;

        @Override
        public void apply(FlowRuleOperations operations) {
            if (held == null) {
                carryOut(operations);
            } else {
                held.add(() -> carryOut(operations));
            }
        }

        /** Carries out what was held, and holds no more. */
        void release() {
            List<Runnable> released = held;
            held = null;
            released.forEach(Runnable::run);
        }

        private void carryOut(FlowRuleOperations operations) {
            for (Set<FlowRuleOperation> stage : operations.stages()) {
                for (FlowRuleOperation operation : stage) {
                    FlowRule rule = operation.rule();
                    if (refusing.contains(rule.deviceId())) {
                        operations.callback().onError(operations);
                        return;
                    }
                    boolean isAdded = operation.type() != FlowRuleOperation.Type.REMOVE;
                    set(stored, rule, isAdded);
                    Order.Kind kind = Order.of(rule).orElseThrow().kind();
                    // What the driver of the switch does.
                    if (isAdded && kind != Order.Kind.KNOWN) {
                        set(rules, rule, kind == Order.Kind.WRITE);
                    }
                }
            }
            operations.callback().onSuccess(operations);
        }

        private static void set(Map<DeviceId, Set<FlowRule>> place, FlowRule rule, boolean isThere) {
            Set<FlowRule> present = place.computeIfAbsent(rule.deviceId(), any -> new HashSet<>());
            present.remove(rule);
            if (isThere) {
                present.add(rule);
            }
        }

        @Override
        public Iterable<FlowEntry> getFlowEntries(DeviceId device) {
            List<FlowEntry> entries = new ArrayList<>();
            stored(device).forEach(rule -> entries.add(new DefaultFlowEntry(rule, FlowEntry.FlowEntryState.ADDED)));
            return entries;
        }

        /** What ONOS believes to be in the switch. */
        Set<FlowRule> stored(DeviceId device) {
            return stored.getOrDefault(device, Set.of());
        }

        /** As a switch that starts anew; ONOS does not know of it. */
        void loseTables(DeviceId device) {
            rules.remove(device);
        }

        Set<FlowRule> of(DeviceId device) {
            return rules.getOrDefault(device, Set.of());
        }

        long inTable(DeviceId device, String table) {
            return of(device).stream().filter(rule -> rule.table().toString().endsWith("." + table)).count();
        }
    }

    /** Keeps what is sent, and hands over what comes. */
    static final class Packets extends PacketServiceAdapter {
        final List<OutboundPacket> sent = new ArrayList<>();
        final List<PacketProcessor> processors = new ArrayList<>();
        boolean refusing;
        /** Whether what is sent arrives nowhere. */
        boolean losing;

        @Override
        public void addProcessor(PacketProcessor processor, int priority) {
            if (refusing) {
                throw new IllegalStateException("ONOS is ending");
            }
            processors.add(processor);
        }

        @Override
        public void removeProcessor(PacketProcessor processor) {
            processors.remove(processor);
        }

        @Override
        public void emit(OutboundPacket packet) {
            if (!losing) {
                sent.add(packet);
            }
        }

        /** Whether a processor kept the packet for itself. */
        boolean receive(DeviceId device, int port, byte[] frame) {
            Context context = new Context(device, port, frame);
            processors.forEach(processor -> processor.process(context));
            return context.isHandled();
        }
    }

    private static final class Context extends PacketContextAdapter {
        private boolean blocked;

        Context(DeviceId device, int port, byte[] frame) {
            super(0, new DefaultInboundPacket(new ConnectPoint(device, PortNumber.portNumber(port)),
                    new Ethernet(), ByteBuffer.wrap(frame)), null, false);
        }

        @Override
        public boolean block() {
            blocked = true;
            return true;
        }

        @Override
        public boolean isHandled() {
            return blocked;
        }
    }

    /** Switches that come and go. */
    static final class Devices extends DeviceServiceAdapter {
        final Set<DeviceId> available = new HashSet<>();
        final Map<DeviceId, Map<Integer, Port>> ports = new HashMap<>();
        final List<DeviceListener> listeners = new ArrayList<>();

        @Override
        public boolean isAvailable(DeviceId device) {
            return available.contains(device);
        }

        @Override
        public void addListener(DeviceListener listener) {
            listeners.add(listener);
        }

        @Override
        public void removeListener(DeviceListener listener) {
            listeners.remove(listener);
        }

        /** A port that is there has light, or not. */
        void setPort(DeviceId id, int number, boolean up) {
            Device device = new DefaultDevice(ProviderId.NONE, id, Device.Type.SWITCH, "", "", "", "", null);
            Port port = new DefaultPort(device, PortNumber.portNumber(number), up);
            ports.computeIfAbsent(id, any -> new TreeMap<>()).put(number, port);
            listeners.forEach(listener -> listener.event(new DeviceEvent(DeviceEvent.Type.PORT_UPDATED, device, port)));
        }

        @Override
        public List<Port> getPorts(DeviceId id) {
            return List.copyOf(ports.getOrDefault(id, Map.of()).values());
        }

        void set(DeviceId id, boolean there) {
            if (there) {
                available.add(id);
            } else {
                available.remove(id);
            }
            Device device = new DefaultDevice(ProviderId.NONE, id, Device.Type.SWITCH, "", "", "", "", null);
            listeners.forEach(listener ->
                    listener.event(new DeviceEvent(DeviceEvent.Type.DEVICE_AVAILABILITY_CHANGED, device)));
        }
    }

    /** One leader, set by a test. */
    static final class Leaders extends LeadershipServiceAdapter {
        final List<LeadershipEventListener> listeners = new ArrayList<>();
        final Set<String> candidate = new HashSet<>();
        private NodeId leader = LOCAL;
        private long term = 1;
        /** What ONOS goes on to say until this node runs again; null while it hears of changes. */
        private Leadership remembered;

        @Override
        public Leadership runForLeadership(String topic) {
            candidate.add(topic);
            remembered = null;
            return getLeadership(topic);
        }

        /** As for a node that was cut off: its session is over, and no event comes any more. */
        void changeWithoutThisNode(NodeId next) {
            remembered = getLeadership(ClusterMember.LEADERSHIP_TOPIC);
            leader = next;
            term++;
        }

        @Override
        public void withdraw(String topic) {
            candidate.remove(topic);
        }

        @Override
        public NodeId getLeader(String topic) {
            return remembered == null ? leader : remembered.leaderNodeId();
        }

        @Override
        public Leadership getLeadership(String topic) {
            if (remembered != null) {
                return remembered;
            }
            return new Leadership(topic, new Leader(leader, term, 1),
                    candidate.contains(topic) ? List.of(LOCAL, OTHER) : List.of(OTHER));
        }

        @Override
        public void addListener(LeadershipEventListener listener) {
            listeners.add(listener);
        }

        @Override
        public void removeListener(LeadershipEventListener listener) {
            listeners.remove(listener);
        }

        /** So that nobody hears of it. */
        void changeSilently(NodeId next) {
            leader = next;
            term++;
        }

        void change(NodeId next) {
            changeSilently(next);
            LeadershipEvent event = new LeadershipEvent(
                    LeadershipEvent.Type.LEADER_CHANGED, getLeadership(ClusterMember.LEADERSHIP_TOPIC));
            listeners.stream().filter(listener -> listener.isRelevant(event)).forEach(listener -> listener.event(event));
        }
    }

    /** The network's configuration. */
    @SuppressWarnings("rawtypes")
    static final class Configuration extends NetworkConfigRegistryAdapter {
        final List<NetworkConfigListener> listeners = new ArrayList<>();
        int factories;
        private final Map<Class<?>, SlotwiseConfig> configs = new LinkedHashMap<>();

        @Override
        public void registerConfigFactory(ConfigFactory factory) {
            factories++;
        }

        @Override
        public void unregisterConfigFactory(ConfigFactory factory) {
            factories--;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <S, C extends Config<S>> C getConfig(S subject, Class<C> type) {
            return (C) configs.get(type);
        }

        @Override
        public void addListener(NetworkConfigListener listener) {
            listeners.add(listener);
        }

        @Override
        public void removeListener(NetworkConfigListener listener) {
            listeners.remove(listener);
        }

        void set(JsonNode network) {
            set(new SlotwiseConfig(), network);
        }

        /** What one key says; null for nothing. */
        void set(SlotwiseConfig config, JsonNode value) {
            if (value == null) {
                configs.remove(config.getClass());
            } else {
                config.init(APP, SlotwiseConfig.KEY, value, new ObjectMapper(), ignored -> { });
                configs.put(config.getClass(), config);
            }
            NetworkConfigEvent event = new NetworkConfigEvent(
                    NetworkConfigEvent.Type.CONFIG_UPDATED, APP, config.getClass());
            listeners.stream().filter(listener -> listener.isRelevant(event)).forEach(listener -> listener.event(event));
        }
    }

    static SlotwiseConfig config(JsonNode network) {
        SlotwiseConfig config = new SlotwiseConfig();
        config.init(APP, SlotwiseConfig.KEY, network, new ObjectMapper(), ignored -> { });
        return config;
    }

    /** Messages between nodes. */
    static final class Messages extends ClusterCommunicationServiceAdapter {
        final List<byte[]> toOther = new ArrayList<>();
        final Map<MessageSubject, Consumer<byte[]>> subscribers = new LinkedHashMap<>();

        @Override
        public <M> CompletableFuture<Void> unicast(
                M message, MessageSubject subject, Function<M, byte[]> encoder, NodeId node) {
            toOther.add(encoder.apply(message));
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public <M> void addSubscriber(
                MessageSubject subject, Function<byte[], M> decoder, Consumer<M> handler, Executor executor) {
            subscribers.put(subject, bytes -> handler.accept(decoder.apply(bytes)));
        }

        @Override
        public void removeSubscriber(MessageSubject subject) {
            subscribers.remove(subject);
        }
    }

    /** One map a name, whoever asks for it; ONOS's own test service makes a new one each time. */
    static final class Storage extends TestStorageService {
        private final Map<String, ConsistentMap<?, ?>> maps = new LinkedHashMap<>();
        /** Whether the nodes cannot agree on anything, and how a map says so. */
        boolean failing;
        /** Whether this node's own storage node answers alone: what it had agreed on with others is read, and nothing is written. */
        boolean cutOff;
        RuntimeException failure = new StorageException.Timeout();

        @Override
        public <K, V> ConsistentMapBuilder<K, V> consistentMapBuilder() {
            return new TestConsistentMap.Builder<>() {
                @Override
                @SuppressWarnings("unchecked")
                public ConsistentMap<K, V> build() {
                    return (ConsistentMap<K, V>) maps.computeIfAbsent(name(), name -> unreliable(super.build()));
                }
            };
        }

        @SuppressWarnings("unchecked")
        private <K, V> ConsistentMap<K, V> unreliable(ConsistentMap<K, V> map) {
            return (ConsistentMap<K, V>) Proxy.newProxyInstance(FakeOnos.class.getClassLoader(),
                    new Class<?>[] {ConsistentMap.class}, (proxy, method, arguments) -> {
                        boolean reads = method.getName().equals("get") || method.getName().equals("entrySet");
                        if ((failing || cutOff && !reads) && !method.getName().endsWith("Listener")) {
                            throw failure;
                        }
                        try {
                            return method.invoke(map, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }
    }

    /** The programs by switch. */
    static final class Pipeconfs extends PiPipeconfServiceAdapter {
        private final Map<String, PiPipeconf> loaded = new LinkedHashMap<>();
        /** Each of them takes ONOS two reads of a map that its cluster agrees on. */
        int lookups;
        /** Whether the nodes cannot agree on which program a switch has. */
        boolean failing;
        RuntimeException failure = new StorageException.Timeout();

        @Override
        public Optional<PiPipeconf> getPipeconf(DeviceId device) {
            lookups++;
            if (failing) {
                throw failure;
            }
            long id = SlotwiseDevices.p4runtime(device).orElseThrow().value();
            return Optional.of(program(id > 3000 ? "ring" : id > 2000 ? "router" : id > 1000 ? "core" : "edge"));
        }

        PiPipeconf program(String name) {
            return loaded.computeIfAbsent(name, any -> {
                try {
                    return Programs.load(name);
                } catch (P4InfoParserException e) {
                    throw new AssertionError(e);
                }
            });
        }
    }
}

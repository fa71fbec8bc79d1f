// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slotwise.lockstep.Done;
import p4.v1.P4RuntimeGrpc;
import p4.v1.P4RuntimeOuterClass.CapabilitiesRequest;
import p4.v1.P4RuntimeOuterClass.CapabilitiesResponse;
import p4.v1.P4RuntimeOuterClass.Entity;
import p4.v1.P4RuntimeOuterClass.Error;
import p4.v1.P4RuntimeOuterClass.ForwardingPipelineConfig;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.MasterArbitrationUpdate;
import p4.v1.P4RuntimeOuterClass.MeterEntry;
import p4.v1.P4RuntimeOuterClass.PacketIn;
import p4.v1.P4RuntimeOuterClass.PacketMetadata;
import p4.v1.P4RuntimeOuterClass.ReadRequest;
import p4.v1.P4RuntimeOuterClass.ReadResponse;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageResponse;
import p4.v1.P4RuntimeOuterClass.TableEntry;
import p4.v1.P4RuntimeOuterClass.Uint128;
import p4.v1.P4RuntimeOuterClass.Update;
import p4.v1.P4RuntimeOuterClass.WriteRequest;
import p4.v1.P4RuntimeOuterClass.WriteResponse;

/** P4Runtime server with many switches that hold tables and forward nothing; strict about what it is asked. */
// An interrupt ends the test.
@SuppressWarnings("try")
public final class FakeP4Runtime extends P4RuntimeGrpc.P4RuntimeImplBase implements AutoCloseable {
    private static final int INGRESS_PORT_ID = 1;
    private static final long TIMEOUT_S = 20;

    /** What controllers did, in order: "program 1001", "write 1001", ... */
    final BlockingQueue<String> log = new LinkedBlockingQueue<>();
    /** Packet-outs in order. */
    final BlockingQueue<PacketOutSeen> packetOuts = new LinkedBlockingQueue<>();
    final BlockingQueue<Done> dones = new LinkedBlockingQueue<>();
    private final Map<Long, Device> devices = new TreeMap<>();
    private final Server server;
    /** Calls that came while another one, of which one was a write, was under way at the same switch. */
    final List<String> overtaking = new ArrayList<>();
    private boolean refuseWrites;

    record PacketOutSeen(long device, ByteString payload) {
    }

    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    /** What calls showed as their authorization; {@code null} as text if nothing. */
    final Set<String> authorizations = ConcurrentHashMap.newKeySet();

    private static final class Device {
        private ForwardingPipelineConfig config;
        private final Map<TableEntry, TableEntry> entries = new LinkedHashMap<>();
        private final Map<Long, MeterEntry> meters = new TreeMap<>();
        /** Live streams, and their election ids. */
        private final Map<StreamObserver<StreamMessageResponse>, BigInteger> streams = new LinkedHashMap<>();
        /** The primary's; null if there is none. */
        private StreamObserver<StreamMessageResponse> stream;
        private BigInteger highest = BigInteger.ZERO;
        private boolean silent;
        private boolean silentToPrograms;
        private boolean holding;
        private final List<Held> held = new ArrayList<>();
        private boolean busy;
    }

    /** A call that waits until the test says so. */
    record Held(String what, ServerCallStreamObserver<?> caller, Runnable answer) {
    }

    /** Starts a server on a free port. */
    public FakeP4Runtime(long... deviceIds) throws IOException {
        this(null, deviceIds);
    }

    /** Starts a server on a free port, with TLS unless {@code tls} is null. */
    FakeP4Runtime(SslContext tls, long... deviceIds) throws IOException {
        for (long id : deviceIds) {
            devices.put(id, new Device());
        }
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).directExecutor()
                .sslContext(tls).addService(this).intercept(new ServerInterceptor() {
                    @Override
                    public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                            ServerCallHandler<Q, A> next) {
                        authorizations.add(String.valueOf(headers.get(AUTHORIZATION)));
                        return next.startCall(call, headers);
                    }
                }).build().start();
    }

    /** Cells of a switch's only meter that were written. */
    public synchronized Map<Long, MeterEntry> meters(long device) {
        return new TreeMap<>(devices.get(device).meters);
    }

    /** {@code host:port}. */
    public String address() {
        return "127.0.0.1:" + server.getPort();
    }

    // ---- what tests do ----

    public synchronized void sendPacket(long device, int port, byte[] payload) {
        devices.get(device).stream.onNext(StreamMessageResponse.newBuilder().setPacket(PacketIn.newBuilder()
                .setPayload(ByteString.copyFrom(payload))
                .addMetadata(PacketMetadata.newBuilder().setMetadataId(INGRESS_PORT_ID)
                        .setValue(ByteStrings.of(port)))).build());
    }

    synchronized void sendOtherToAll(Any message) {
        devices.values().forEach(device ->
                device.stream.onNext(StreamMessageResponse.newBuilder().setOther(message).build()));
    }

    synchronized void sendOther(Any message, long... receivers) {
        for (long device : receivers) {
            devices.get(device).stream.onNext(StreamMessageResponse.newBuilder().setOther(message).build());
        }
    }

    /** The switch ends the primary's stream. */
    synchronized void closeStream(long device) {
        StreamObserver<StreamMessageResponse> closed = devices.get(device).stream;
        leave(device, closed);
        closed.onCompleted();
    }

    /** The primary's stream is gone, and the switch has not noticed: its election id is taken, and {@code ghost} has it. */
    synchronized void loseStream(long device, StreamObserver<StreamMessageResponse> ghost) {
        Device lost = devices.get(device);
        StreamObserver<StreamMessageResponse> closed = lost.stream;
        lost.streams.put(ghost, lost.streams.remove(closed));
        lost.stream = ghost;
        closed.onCompleted();
    }

    /** The switch answers no arbitration. */
    synchronized void silence(long device, boolean silent) {
        devices.get(device).silent = silent;
    }

    /** The switch does not answer a program, and never runs it. */
    synchronized void silenceToPrograms(long device, boolean silent) {
        devices.get(device).silentToPrograms = silent;
    }

    /** Reads and writes of the switch's tables, and questions about its program, wait until {@link #release}. */
    synchronized void hold(long device) {
        devices.get(device).holding = true;
    }

    /** Carries out what was held, and holds no more. */
    synchronized void release(long device) {
        Device released = devices.get(device);
        released.holding = false;
        List<Held> held = List.copyOf(released.held);
        released.held.clear();
        held.forEach(call -> call.answer().run());
    }

    /** What waits at a switch that holds. */
    synchronized List<Held> held(long device) {
        return List.copyOf(devices.get(device).held);
    }

    /** Another controller, with this election id. */
    synchronized void join(long device, BigInteger electionId, StreamObserver<StreamMessageResponse> stranger) {
        arbitrate(device, electionId, stranger);
    }

    /** The highest election id that a primary of the switch ever had. */
    synchronized BigInteger highest(long device) {
        return devices.get(device).highest;
    }

    /** The other controller goes. */
    synchronized void leave(long device, StreamObserver<StreamMessageResponse> stream) {
        Device left = devices.get(device);
        left.streams.remove(stream);
        if (left.stream == stream) {
            left.stream = null;
            left.streams.forEach((other, id) -> advise(device, left, other));
        }
    }

    synchronized void refuseWrites(boolean refuse) {
        refuseWrites = refuse;
    }

    synchronized int entries(long device) {
        return devices.get(device).entries.size();
    }

    static <T> T await(BlockingQueue<T> queue) throws InterruptedException {
        T item = queue.poll(TIMEOUT_S, TimeUnit.SECONDS);
        if (item == null) {
            throw new AssertionError("nothing came within " + TIMEOUT_S + " s");
        }
        return item;
    }

    void awaitLog(String entry) throws InterruptedException {
        while (!await(log).equals(entry)) {
            // Another one, from before.
        }
    }

    // ---- what controllers call ----

    @Override
    public StreamObserver<StreamMessageRequest> streamChannel(StreamObserver<StreamMessageResponse> responses) {
        // With a handler, what is said to a caller who has just gone is lost, and no exception.
        ((ServerCallStreamObserver<StreamMessageResponse>) responses).setOnCancelHandler(() -> { });
        return new StreamObserver<>() {
            private long device;

            @Override
            public void onNext(StreamMessageRequest message) {
                synchronized (FakeP4Runtime.this) {
                    switch (message.getUpdateCase()) {
                        case ARBITRATION -> {
                            device = message.getArbitration().getDeviceId();
                            arbitrate(device, number(message.getArbitration().getElectionId()), responses);
                        }
                        case PACKET -> packetOuts.add(new PacketOutSeen(device, message.getPacket().getPayload()));
                        case OTHER -> dones.add(unpack(message.getOther()));
                        default -> throw new IllegalStateException("unexpected " + message.getUpdateCase());
                    }
                }
            }

            @Override
            public void onError(Throwable error) {
                leave(device, responses);
                log.add("gone " + device);
            }

            @Override
            public void onCompleted() {
                responses.onCompleted();
            }
        };
    }

    private static Done unpack(Any other) {
        try {
            return other.unpack(Done.class);
        } catch (com.google.protobuf.InvalidProtocolBufferException e) {
            throw new IllegalStateException(e);
        }
    }

    private static BigInteger number(Uint128 id) {
        return ElectionId.of(id).value();
    }

    /** As the specification has it: the highest id that a primary ever had is remembered. */
    private void arbitrate(long id, BigInteger electionId, StreamObserver<StreamMessageResponse> responses) {
        Device device = devices.get(id);
        if (device.silent) {
            log.add("silent " + id);
            return;
        }
        if (device.streams.entrySet().stream()
                .anyMatch(other -> other.getKey() != responses && other.getValue().equals(electionId))) {
            responses.onError(io.grpc.Status.INVALID_ARGUMENT
                    .withDescription("election id " + electionId + " is already used").asRuntimeException());
            return;
        }
        device.streams.put(responses, electionId);
        if (electionId.compareTo(device.highest) >= 0) {
            device.highest = electionId;
            device.stream = responses;
            log.add("primary " + id);
            device.streams.forEach((other, any) -> advise(id, device, other));
        } else {
            advise(id, device, responses);
        }
    }

    private static void advise(long id, Device device, StreamObserver<StreamMessageResponse> stream) {
        int code = device.stream == stream ? Code.OK_VALUE
                : device.stream == null ? Code.NOT_FOUND_VALUE : Code.ALREADY_EXISTS_VALUE;
        stream.onNext(StreamMessageResponse.newBuilder().setArbitration(MasterArbitrationUpdate.newBuilder()
                .setDeviceId(id).setElectionId(new ElectionId(device.highest).toWire())
                .setStatus(Status.newBuilder().setCode(code))).build());
    }

    @Override
    public void capabilities(CapabilitiesRequest request, StreamObserver<CapabilitiesResponse> responses) {
        responses.onNext(CapabilitiesResponse.getDefaultInstance());
        responses.onCompleted();
    }

    /** Carries a call out, now or when it is released. */
    private void carryOut(long id, String what, StreamObserver<?> caller, Runnable answer) {
        Device device = devices.get(id);
        if (device.busy) {
            overtaking.add(what);
        }
        if (device.holding) {
            device.busy |= what.startsWith("write");
            ServerCallStreamObserver<?> call = (ServerCallStreamObserver<?>) caller;
            call.setOnCancelHandler(() -> log.add("cancelled " + what));
            device.held.add(new Held(what, call, () -> {
                device.busy = false;
                answer.run();
            }));
            log.add("held " + what);
        } else {
            answer.run();
        }
    }

    @Override
    public synchronized void getForwardingPipelineConfig(GetForwardingPipelineConfigRequest request,
            StreamObserver<GetForwardingPipelineConfigResponse> responses) {
        carryOut(request.getDeviceId(), "program? " + request.getDeviceId(), responses,
                () -> answer(request, responses));
    }

    private void answer(GetForwardingPipelineConfigRequest request,
            StreamObserver<GetForwardingPipelineConfigResponse> responses) {
        Device device = devices.get(request.getDeviceId());
        if (device.config == null) {
            responses.onError(io.grpc.Status.FAILED_PRECONDITION.asRuntimeException());
            return;
        }
        responses.onNext(GetForwardingPipelineConfigResponse.newBuilder().setConfig(
                ForwardingPipelineConfig.newBuilder().setCookie(device.config.getCookie())).build());
        responses.onCompleted();
    }

    @Override
    public synchronized void setForwardingPipelineConfig(SetForwardingPipelineConfigRequest request,
            StreamObserver<SetForwardingPipelineConfigResponse> responses) {
        Device device = devices.get(request.getDeviceId());
        if (device.silentToPrograms) {
            log.add("unanswered program " + request.getDeviceId());
            return;
        }
        device.config = request.getConfig();
        device.entries.clear();
        device.meters.clear();
        log.add("program " + request.getDeviceId());
        responses.onNext(SetForwardingPipelineConfigResponse.getDefaultInstance());
        responses.onCompleted();
    }

    @Override
    public synchronized void write(WriteRequest request, StreamObserver<WriteResponse> responses) {
        carryOut(request.getDeviceId(), "write " + request.getDeviceId(), responses, () -> answer(request, responses));
    }

    private void answer(WriteRequest request, StreamObserver<WriteResponse> responses) {
        Device device = devices.get(request.getDeviceId());
        if (refuseWrites || device.stream == null || !number(request.getElectionId()).equals(device.highest)) {
            responses.onError(refused(request));
            log.add("refused " + request.getDeviceId());
            return;
        }
        for (Update update : request.getUpdatesList()) {
            if (update.getEntity().hasMeterEntry()) {
                if (update.getType() != Update.Type.MODIFY) {
                    responses.onError(io.grpc.Status.INVALID_ARGUMENT.asRuntimeException());
                    return;
                }
                device.meters.put(update.getEntity().getMeterEntry().getIndex().getIndex(), update.getEntity().getMeterEntry());
                continue;
            }
            TableEntry entry = update.getEntity().getTableEntry();
            if (entry.getIsDefaultAction()) {
                continue;
            }
            TableEntry key = entry.toBuilder().clearAction().build();
            boolean present = device.entries.containsKey(key);
            if (present == (update.getType() == Update.Type.INSERT)) {
                responses.onError(io.grpc.Status.UNKNOWN.asRuntimeException());
                return;
            }
            if (update.getType() == Update.Type.DELETE) {
                device.entries.remove(key);
            } else {
                device.entries.put(key, entry);
            }
        }
        log.add("write " + request.getDeviceId());
        responses.onNext(WriteResponse.getDefaultInstance());
        responses.onCompleted();
    }

    private static StatusRuntimeException refused(WriteRequest request) {
        Status.Builder status = Status.newBuilder().setCode(Code.UNKNOWN_VALUE).setMessage("refused");
        request.getUpdatesList().forEach(update -> status.addDetails(Any.pack(Error.newBuilder()
                .setCanonicalCode(Code.RESOURCE_EXHAUSTED_VALUE).setMessage("table full").build())));
        return StatusProto.toStatusRuntimeException(status.build());
    }

    @Override
    public synchronized void read(ReadRequest request, StreamObserver<ReadResponse> responses) {
        carryOut(request.getDeviceId(), "read " + request.getDeviceId(), responses, () -> answer(request, responses));
    }

    private void answer(ReadRequest request, StreamObserver<ReadResponse> responses) {
        ReadResponse.Builder response = ReadResponse.newBuilder();
        List<TableEntry> entries = new ArrayList<>(devices.get(request.getDeviceId()).entries.values());
        entries.forEach(entry -> response.addEntities(Entity.newBuilder().setTableEntry(entry)));
        responses.onNext(response.build());
        responses.onCompleted();
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slotwise.lockstep.Done;
import p4.v1.P4RuntimeGrpc;
import p4.v1.P4RuntimeOuterClass.Entity;
import p4.v1.P4RuntimeOuterClass.Error;
import p4.v1.P4RuntimeOuterClass.ForwardingPipelineConfig;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.MasterArbitrationUpdate;
import p4.v1.P4RuntimeOuterClass.PacketIn;
import p4.v1.P4RuntimeOuterClass.PacketMetadata;
import p4.v1.P4RuntimeOuterClass.ReadRequest;
import p4.v1.P4RuntimeOuterClass.ReadResponse;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageResponse;
import p4.v1.P4RuntimeOuterClass.TableEntry;
import p4.v1.P4RuntimeOuterClass.Update;
import p4.v1.P4RuntimeOuterClass.WriteRequest;
import p4.v1.P4RuntimeOuterClass.WriteResponse;

/** P4Runtime server with many switches that hold tables and forward nothing; strict about what it is asked. */
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
    private boolean refuseWrites;

    record PacketOutSeen(long device, ByteString payload) {
    }

    private static final class Device {
        private ForwardingPipelineConfig config;
        private final Map<TableEntry, TableEntry> entries = new LinkedHashMap<>();
        private StreamObserver<StreamMessageResponse> stream;
        private long electionId;
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
        server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).directExecutor()
                .sslContext(tls).addService(this).build().start();
    }

    /** {@code host:port}. */
    public String address() {
        return "127.0.0.1:" + server.getPort();
    }

    // ---- what tests do ----

    synchronized void sendPacket(long device, int port, byte[] payload) {
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

    synchronized void closeStream(long device) {
        devices.get(device).stream.onCompleted();
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
            continue;
        }
    }

    // ---- what controllers call ----

    @Override
    public StreamObserver<StreamMessageRequest> streamChannel(StreamObserver<StreamMessageResponse> responses) {
        return new StreamObserver<>() {
            private long device;

            @Override
            public void onNext(StreamMessageRequest message) {
                synchronized (FakeP4Runtime.this) {
                    switch (message.getUpdateCase()) {
                        case ARBITRATION -> {
                            device = message.getArbitration().getDeviceId();
                            arbitrate(message.getArbitration(), responses);
                        }
                        case PACKET -> packetOuts.add(new PacketOutSeen(device, message.getPacket().getPayload()));
                        case OTHER -> dones.add(unpack(message.getOther()));
                        default -> throw new IllegalStateException("unexpected " + message.getUpdateCase());
                    }
                }
            }

            @Override
            public void onError(Throwable error) {
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

    private void arbitrate(MasterArbitrationUpdate update, StreamObserver<StreamMessageResponse> responses) {
        Device device = devices.get(update.getDeviceId());
        boolean primary = update.getElectionId().getLow() >= device.electionId;
        if (primary) {
            device.electionId = update.getElectionId().getLow();
            device.stream = responses;
            log.add("primary " + update.getDeviceId());
        }
        responses.onNext(StreamMessageResponse.newBuilder().setArbitration(update.toBuilder().setStatus(
                Status.newBuilder().setCode(primary ? Code.OK_VALUE : Code.ALREADY_EXISTS_VALUE))).build());
    }

    @Override
    public synchronized void getForwardingPipelineConfig(GetForwardingPipelineConfigRequest request,
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
        device.config = request.getConfig();
        device.entries.clear();
        log.add("program " + request.getDeviceId());
        responses.onNext(SetForwardingPipelineConfigResponse.getDefaultInstance());
        responses.onCompleted();
    }

    @Override
    public synchronized void write(WriteRequest request, StreamObserver<WriteResponse> responses) {
        Device device = devices.get(request.getDeviceId());
        if (refuseWrites || request.getElectionId().getLow() != device.electionId) {
            responses.onError(refused(request));
            log.add("refused " + request.getDeviceId());
            return;
        }
        for (Update update : request.getUpdatesList()) {
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Any;
import com.google.rpc.Code;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;
import p4.v1.P4RuntimeGrpc;
import p4.v1.P4RuntimeOuterClass.Entity;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.MasterArbitrationUpdate;
import p4.v1.P4RuntimeOuterClass.ReadRequest;
import p4.v1.P4RuntimeOuterClass.ReadResponse;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageResponse;
import p4.v1.P4RuntimeOuterClass.Uint128;
import p4.v1.P4RuntimeOuterClass.WriteRequest;
import p4.v1.P4RuntimeOuterClass.WriteResponse;

/**
 * One switch over P4Runtime: a stream, the role of primary, its program, its tables. All methods but the stream's
 * callbacks run on the driver's thread; callbacks only pass on to it.
 */
final class DeviceSession {
    private static final Logger LOG = LoggerFactory.getLogger(DeviceSession.class);
    private static final long RPC_DEADLINE_S = 10;
    /** Messages on the way from gRPC to the driver; a switch that sends more waits. */
    private static final int STREAM_WINDOW = 256;

    private final DeviceId device;
    private final Pipeline pipeline;
    private final Uint128 electionId;
    private final P4RuntimeGrpc.P4RuntimeStub streams;
    private final P4RuntimeGrpc.P4RuntimeBlockingStub calls;
    private final P4RuntimeGrpc.P4RuntimeFutureStub writes;
    private final P4RuntimeGrpc.P4RuntimeFutureStub awaitedWrites;
    private final Executor driver;
    private final Listener listener;
    private ClientCallStreamObserver<StreamMessageRequest> stream;
    /** Counts streams, so that a late callback of a closed one is known. */
    private int generation;
    private boolean primary;

    /** What the session tells the driver, on the driver's thread. */
    interface Listener {
        /** This controller is the switch's primary, on a new stream; {@link DeviceSession#synchronize} is next. */
        void onPrimary(DeviceSession session);

        /** The switch runs the program and this controller is its primary. */
        void onReady(DeviceSession session, List<TableEntry> entries);

        /** The switch cannot be used, for {@code reason}; the session does nothing until told. */
        void onLost(DeviceSession session, String reason);

        /** A packet came. */
        void onPacketIn(DeviceSession session, int port, byte[] frame);

        /** A message that P4Runtime does not define came. */
        void onOther(DeviceSession session, Any message);
    }

    /** Takes the channel that the driver's thread serves, and one that it may wait for. */
    DeviceSession(DeviceId device, Pipeline pipeline, long electionId, Channel channel, Channel waitingChannel,
            Executor driver, Listener listener) {
        this.device = device;
        this.pipeline = pipeline;
        this.electionId = Uint128.newBuilder().setLow(electionId).build();
        this.streams = P4RuntimeGrpc.newStub(channel);
        this.calls = P4RuntimeGrpc.newBlockingStub(waitingChannel);
        this.writes = P4RuntimeGrpc.newFutureStub(channel);
        this.awaitedWrites = P4RuntimeGrpc.newFutureStub(waitingChannel);
        this.driver = driver;
        this.listener = listener;
    }

    DeviceId device() {
        return device;
    }

    /** Opens the stream, closing a former one, and asks to be primary. */
    void connect() {
        close();
        StreamObserver observer = new StreamObserver(++generation);
        streams.streamChannel(observer);
        stream = observer.requests;
        stream.onNext(StreamMessageRequest.newBuilder().setArbitration(MasterArbitrationUpdate.newBuilder()
                .setDeviceId(device.value()).setElectionId(electionId)).build());
    }

    /** Closes the stream. */
    void close() {
        generation++;
        primary = false;
        if (stream != null) {
            stream.cancel("the controller ends", null);
            stream = null;
        }
    }

    /** Whether this controller is the switch's primary. */
    boolean isPrimary() {
        return primary;
    }

    /** Returns whether it was sent: only a primary may. */
    boolean sendPacket(int port, byte[] frame) {
        if (primary) {
            stream.onNext(StreamMessageRequest.newBuilder().setPacket(pipeline.info().packetOut(port, frame)).build());
        }
        return primary;
    }

    void sendOther(Any message) {
        if (primary) {
            stream.onNext(StreamMessageRequest.newBuilder().setOther(message).build());
        }
    }

    /** Starts to write a batch; the answer comes on the driver's thread. */
    ListenableFuture<WriteResponse> write(List<Update> updates) {
        return writes.withDeadlineAfter(RPC_DEADLINE_S, TimeUnit.SECONDS).write(request(updates));
    }

    /** Starts to write a batch; the answer comes on another thread. */
    ListenableFuture<WriteResponse> awaitedWrite(List<Update> updates) {
        return awaitedWrites.withDeadlineAfter(RPC_DEADLINE_S, TimeUnit.SECONDS).write(request(updates));
    }

    private WriteRequest request(List<Update> updates) {
        WriteRequest.Builder request =
                WriteRequest.newBuilder().setDeviceId(device.value()).setElectionId(electionId);
        for (Update update : updates) {
            request.addUpdatesBuilder().setType(typeOf(update))
                    .getEntityBuilder().setTableEntry(pipeline.info().encode(update.entry()));
        }
        return request.build();
    }

    private static p4.v1.P4RuntimeOuterClass.Update.Type typeOf(Update update) {
        return switch (update.type()) {
            case INSERT -> p4.v1.P4RuntimeOuterClass.Update.Type.INSERT;
            case MODIFY -> p4.v1.P4RuntimeOuterClass.Update.Type.MODIFY;
            case DELETE -> p4.v1.P4RuntimeOuterClass.Update.Type.DELETE;
        };
    }

    /**
     * Makes sure that the switch runs the program, and reads its tables; tells the listener how that went. Does nothing
     * without a stream, since that is being opened again.
     */
    void synchronize() {
        if (stream == null) {
            return;
        }
        List<TableEntry> entries;
        try {
            if (!runsProgram()) {
                pushProgram();
            }
            entries = readTables();
        } catch (StatusRuntimeException e) {
            fail(describe(e.getStatus()));
            return;
        }
        listener.onReady(this, entries);
    }

    private boolean runsProgram() {
        try {
            GetForwardingPipelineConfigResponse response =
                    timed().getForwardingPipelineConfig(GetForwardingPipelineConfigRequest.newBuilder()
                            .setDeviceId(device.value())
                            .setResponseType(GetForwardingPipelineConfigRequest.ResponseType.COOKIE_ONLY).build());
            return response.hasConfig() && response.getConfig().hasCookie()
                    && response.getConfig().getCookie().getCookie() == pipeline.cookie();
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() == Status.Code.FAILED_PRECONDITION) {
                return false;
            }
            throw e;
        }
    }

    private void pushProgram() {
        LOG.info("device {}: sending the P4 program", device);
        SetForwardingPipelineConfigRequest request = SetForwardingPipelineConfigRequest.newBuilder()
                .setDeviceId(device.value()).setElectionId(electionId)
                .setAction(SetForwardingPipelineConfigRequest.Action.VERIFY_AND_COMMIT)
                .setConfig(pipeline.config()).build();
        timed().setForwardingPipelineConfig(request);
    }

    private List<TableEntry> readTables() {
        ReadRequest request = ReadRequest.newBuilder().setDeviceId(device.value())
                .addEntities(Entity.newBuilder().setTableEntry(p4.v1.P4RuntimeOuterClass.TableEntry.newBuilder()))
                .build();
        List<TableEntry> entries = new ArrayList<>();
        for (Iterator<ReadResponse> responses = timed().read(request); responses.hasNext();) {
            for (Entity entity : responses.next().getEntitiesList()) {
                pipeline.info().decode(entity.getTableEntry()).ifPresent(entries::add);
            }
        }
        return entries;
    }

    private P4RuntimeGrpc.P4RuntimeBlockingStub timed() {
        return calls.withDeadlineAfter(RPC_DEADLINE_S, TimeUnit.SECONDS);
    }

    private static String describe(Status status) {
        String cause = status.getCause() == null ? "" : ", " + status.getCause().getMessage();
        return status.getCode() + " " + status.getDescription() + cause;
    }

    private void fail(String reason) {
        close();
        listener.onLost(this, reason);
    }

    private void onMessage(StreamMessageResponse message) {
        switch (message.getUpdateCase()) {
            case ARBITRATION -> onArbitration(message.getArbitration());
            case PACKET -> pipeline.info().ingressPort(message.getPacket()).ifPresentOrElse(
                    port -> listener.onPacketIn(this, port, message.getPacket().getPayload().toByteArray()),
                    () -> LOG.warn("device {}: packet-in without ingress port", device));
            case OTHER -> listener.onOther(this, message.getOther());
            case ERROR -> LOG.warn("device {}: {}", device, message.getError().getMessage());
            default -> LOG.debug("device {}: ignored a {} message", device, message.getUpdateCase());
        }
    }

    private void onArbitration(MasterArbitrationUpdate update) {
        if (update.getStatus().getCode() == Code.OK_VALUE) {
            primary = true;
            listener.onPrimary(this);
        } else {
            fail("another controller is its primary");
        }
    }

    /** Receives on gRPC's threads. */
    private final class StreamObserver
            implements ClientResponseObserver<StreamMessageRequest, StreamMessageResponse> {
        private final int streamGeneration;
        private ClientCallStreamObserver<StreamMessageRequest> requests;

        StreamObserver(int streamGeneration) {
            this.streamGeneration = streamGeneration;
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<StreamMessageRequest> requestStream) {
            requests = requestStream;
            requests.disableAutoRequestWithInitial(STREAM_WINDOW);
        }

        @Override
        public void onNext(StreamMessageResponse message) {
            pass(() -> {
                onMessage(message);
                requests.request(1);
            });
        }

        @Override
        public void onError(Throwable error) {
            pass(() -> fail(describe(Status.fromThrowable(error))));
        }

        @Override
        public void onCompleted() {
            pass(() -> fail("the switch closed the stream"));
        }

        private void pass(Runnable task) {
            driver.execute(() -> {
                if (generation == streamGeneration) {
                    task.run();
                }
            });
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.Any;
import com.google.rpc.Code;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import p4.v1.P4RuntimeGrpc;
import p4.v1.P4RuntimeOuterClass.CapabilitiesRequest;
import p4.v1.P4RuntimeOuterClass.Entity;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.GetForwardingPipelineConfigResponse;
import p4.v1.P4RuntimeOuterClass.MasterArbitrationUpdate;
import p4.v1.P4RuntimeOuterClass.ReadRequest;
import p4.v1.P4RuntimeOuterClass.ReadResponse;
import p4.v1.P4RuntimeOuterClass.SetForwardingPipelineConfigRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;
import p4.v1.P4RuntimeOuterClass.StreamMessageResponse;
import p4.v1.P4RuntimeOuterClass.WriteRequest;
import p4.v1.P4RuntimeOuterClass.WriteResponse;

/**
 * One switch over P4Runtime: a stream, the role of primary, its program, its tables. No method waits. All run on the driver's
 * thread, but for the stream's callbacks, which only pass on to it.
 *
 * <p>What an election id was used for may still be under way when a stream ends. So a stream that follows one with an unanswered
 * write or program asks with a higher id: from then on the switch refuses what the old one left behind, and what is read stays
 * true.
 */
final class DeviceSession {
    private static final Logger LOG = LoggerFactory.getLogger(DeviceSession.class);
    /** Messages on the way from gRPC to the driver; a switch that sends more waits. */
    private static final int STREAM_WINDOW = 256;
    /** Far more than any program of ours has room for; a switch that sends more is not believed. */
    private static final int MAX_ENTRIES = 1 << 20;
    /** After these nobody knows whether the switch has done, or will still do, what it was told. */
    private static final Set<Status.Code> UNANSWERED = Set.of(
            Status.Code.DEADLINE_EXCEEDED, Status.Code.CANCELLED, Status.Code.UNAVAILABLE, Status.Code.INTERNAL);

    private final DeviceId device;
    private final Pipeline pipeline;
    private final Patience patience;
    private final long packetLifeNs;
    private final P4RuntimeGrpc.P4RuntimeStub streams;
    private final P4RuntimeGrpc.P4RuntimeStub reads;
    private final P4RuntimeGrpc.P4RuntimeFutureStub calls;
    private final WriteWindow writes;
    private final Executor driver;
    private final Listener listener;
    private ElectionId electionId;
    private ClientCallStreamObserver<StreamMessageRequest> stream;
    private Outbox outbox;
    /** Counts streams, so that a late callback of a closed one is known. */
    private int generation;
    private boolean primary;
    /** Whether a stream with the present election id was primary: one that the switch has not missed yet may still hold it. */
    private boolean wasPrimary;
    private long openedNs;
    private long heardNs;
    private long checkedNs;
    private long packetsDropped;
    private ListenableFuture<WriteResponse> unanswered;
    /** All calls of a read, which end with it; null before the first. */
    private Context.CancellableContext reading;
    /** Whether a program was sent and not answered; what a read leads to may be on the calls' thread. */
    private volatile boolean pushing;

    /** What the session tells the driver, on the driver's thread. */
    interface Listener {
        /** This controller is the switch's primary, on a new stream; {@link DeviceSession#read} is next. */
        void onPrimary(DeviceSession session);

        /** The switch cannot be used, for {@code reason}; the session does nothing until told. */
        void onLost(DeviceSession session, String reason);

        /** A packet came. */
        void onPacketIn(DeviceSession session, int port, byte[] frame);

        /** A message that P4Runtime does not define came. */
        void onOther(DeviceSession session, Any message);
    }

    /**
     * Takes the channel of its stream, whose callbacks are on the driver's thread, and the one of its calls: the same, or, where
     * the driver waits for answers, one with a thread of its own; what is written goes through the window of its server. A packet waits for a switch that does not read for at most
     * {@code packetLifeNs}.
     */
    DeviceSession(DeviceId device, Pipeline pipeline, ElectionId electionId, Patience patience, long packetLifeNs,
            Channel streamChannel, Channel callChannel, WriteWindow writes, Executor driver, Listener listener) {
        this.device = device;
        this.pipeline = pipeline;
        this.electionId = electionId;
        this.patience = patience;
        this.packetLifeNs = packetLifeNs;
        this.streams = P4RuntimeGrpc.newStub(streamChannel);
        this.reads = P4RuntimeGrpc.newStub(callChannel);
        this.calls = P4RuntimeGrpc.newFutureStub(callChannel);
        this.writes = writes;
        this.driver = driver;
        this.listener = listener;
    }

    DeviceId device() {
        return device;
    }

    // ---- the stream ----

    /** Opens the stream, closing a former one, and asks to be primary. */
    void connect() {
        close();
        StreamObserver observer = new StreamObserver(++generation);
        streams.streamChannel(observer);
        stream = observer.requests;
        outbox = new Outbox(stream, System::nanoTime, packetLifeNs);
        openedNs = System.nanoTime();
        heardNs = openedNs;
        checkedNs = openedNs;
        stream.onNext(StreamMessageRequest.newBuilder().setArbitration(MasterArbitrationUpdate.newBuilder()
                .setDeviceId(device.value()).setElectionId(electionId.toWire())).build());
    }

    /** Closes the stream; a read or write that has no answer yet gets none any more. */
    void close() {
        generation++;
        primary = false;
        if (stream != null) {
            stream.cancel("controller shutdown", null);
            stream = null;
        }
        if (unanswered != null || pushing) {
            raise(electionId, "no response to " + (pushing ? "a program" : "a write"));
        }
        if (unanswered != null) {
            unanswered.cancel(false);
            unanswered = null;
        }
        if (reading != null) {
            reading.cancel(null);
            reading = null;
        }
        pushing = false;
    }

    private void raise(ElectionId atLeast, String reason) {
        electionId = electionId.above(atLeast);
        wasPrimary = false;
        LOG.warn("device {}: election id raised to {}: {}", device, electionId, reason);
    }

    /** Gives the switch up, for {@code reason}, until {@link #connect}. */
    void fail(String reason) {
        close();
        listener.onLost(this, reason);
    }

    /** Whether this controller is the switch's primary. */
    boolean isPrimary() {
        return primary;
    }

    /** Returns whether it was sent: only a primary may, and only so much waits for a switch that does not read. */
    boolean sendPacket(int port, byte[] frame) {
        if (!primary) {
            return false;
        }
        boolean sent = outbox.send(
                StreamMessageRequest.newBuilder().setPacket(pipeline.info().packetOut(port, frame)).build());
        if (!sent && packetsDropped++ == 0) {
            LOG.warn("device {}: packet-out queue full, dropping packets: limit {}", device, Outbox.MAX_WAITING);
        }
        return sent;
    }

    void sendOther(Any message) {
        if (primary && !outbox.send(StreamMessageRequest.newBuilder().setOther(message).build())) {
            fail("message queue full");
        }
    }

    /** To be called now and then where time is this machine's: gives up a switch that is silent for too long. */
    void check() {
        if (stream == null) {
            return;
        }
        long nowNs = System.nanoTime();
        if (!primary) {
            if (nowNs - openedNs > patience.arbitration().toNanos()) {
                fail("no arbitration response within " + patience.arbitration().toMillis() + " ms");
            }
        } else if (nowNs - checkedNs > patience.silence().toNanos()) {
            boolean silent = heardNs - checkedNs < 0;
            checkedNs = nowNs;
            if (outbox.isStuck()) {
                fail("packet-out queue stuck");
            } else if (silent) {
                probe();
            }
        }
    }

    private void probe() {
        int probed = generation;
        Futures.addCallback(within(calls, patience.silence()).capabilities(CapabilitiesRequest.getDefaultInstance()),
                new FutureCallback<Object>() {
                    @Override
                    public void onSuccess(Object answer) {
                        // It is there, and that is all that was asked.
                    }

                    @Override
                    public void onFailure(Throwable error) {
                        if (generation == probed && UNANSWERED.contains(Status.fromThrowable(error).getCode())) {
                            fail("no response: " + describe(error));
                        }
                    }
                }, driver);
    }

    private void onMessage(StreamMessageResponse message) {
        heardNs = System.nanoTime();
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

    /** Nobody is disturbed who is primary; where nobody is, the ids that a former primary used are left behind. */
    private void onArbitration(MasterArbitrationUpdate update) {
        int code = update.getStatus().getCode();
        ElectionId highest = ElectionId.of(update.getElectionId());
        if (code == Code.OK_VALUE) {
            boolean isNews = !primary;
            primary = true;
            wasPrimary = true;
            if (isNews) {
                listener.onPrimary(this);
            }
        } else if (code == Code.NOT_FOUND_VALUE) {
            raise(highest, "no primary, highest election id seen is " + highest);
            fail("retry with election id " + electionId);
        } else {
            fail("another controller is primary, with election id " + highest);
        }
    }

    // ---- tables ----

    /** Starts to write a batch; {@link #onAnswer} is to be called when the future has completed, on whatever thread it does. */
    CompletableFuture<Void> write(List<Update> updates) {
        WriteRequest request = request(updates);
        unanswered = writes.send(request.getSerializedSize(), () -> within(calls, patience.call()).write(request));
        return toFuture(unanswered).thenApply(response -> null);
    }

    /** A write is over; without an answer the switch is given up, since it may still do what it was told. */
    void onAnswer(Throwable error) {
        if (unanswered == null) {
            return;
        }
        if (error != null && UNANSWERED.contains(Status.fromThrowable(error).getCode())) {
            fail("no response to a write: " + describe(error));
        } else {
            unanswered = null;
        }
    }

    private WriteRequest request(List<Update> updates) {
        WriteRequest.Builder request =
                WriteRequest.newBuilder().setDeviceId(device.value()).setElectionId(electionId.toWire());
        updates.forEach(update -> request.addUpdates(pipeline.info().encode(update)));
        return request.build();
    }

    /** Makes sure that the switch runs the program, and reads its tables. */
    CompletableFuture<List<TableEntry>> read() {
        Context.CancellableContext calling = Context.ROOT.withCancellation();
        reading = calling;
        return within(calling, this::runsProgram)
                .thenCompose(runs -> runs ? CompletableFuture.completedFuture(null) : within(calling, this::pushProgram))
                .thenCompose(done -> within(calling, this::readTables));
    }

    /** Begins a call that ends with a context; where that has ended, it fails at once. */
    private static <T> CompletableFuture<T> within(Context context, Supplier<CompletableFuture<T>> call) {
        Context before = context.attach();
        try {
            return call.get();
        } finally {
            context.detach(before);
        }
    }

    private CompletableFuture<Boolean> runsProgram() {
        GetForwardingPipelineConfigRequest request = GetForwardingPipelineConfigRequest.newBuilder()
                .setDeviceId(device.value())
                .setResponseType(GetForwardingPipelineConfigRequest.ResponseType.COOKIE_ONLY).build();
        return toFuture(within(calls, patience.call()).getForwardingPipelineConfig(request))
                .handle((response, error) -> error == null
                        ? CompletableFuture.completedFuture(hasCookie(response))
                        : Status.fromThrowable(error).getCode() == Status.Code.FAILED_PRECONDITION
                                ? CompletableFuture.completedFuture(false)
                                : CompletableFuture.<Boolean>failedFuture(error))
                .thenCompose(answer -> answer);
    }

    private boolean hasCookie(GetForwardingPipelineConfigResponse response) {
        return response.hasConfig() && response.getConfig().hasCookie()
                && response.getConfig().getCookie().getCookie() == pipeline.cookie();
    }

    private CompletableFuture<Void> pushProgram() {
        LOG.info("device {}: sending the P4 program", device);
        SetForwardingPipelineConfigRequest request = SetForwardingPipelineConfigRequest.newBuilder()
                .setDeviceId(device.value()).setElectionId(electionId.toWire())
                .setAction(SetForwardingPipelineConfigRequest.Action.VERIFY_AND_COMMIT)
                .setConfig(pipeline.config()).build();
        pushing = true;
        return toFuture(within(calls, patience.program()).setForwardingPipelineConfig(request))
                .whenComplete((response, error) -> {
                    if (error == null || !UNANSWERED.contains(Status.fromThrowable(error).getCode())) {
                        pushing = false;
                    }
                }).thenApply(response -> null);
    }

    private CompletableFuture<List<TableEntry>> readTables() {
        ReadRequest request = ReadRequest.newBuilder().setDeviceId(device.value())
                .addEntities(Entity.newBuilder().setTableEntry(p4.v1.P4RuntimeOuterClass.TableEntry.newBuilder()))
                .build();
        EntryReader reader = new EntryReader();
        within(reads, patience.call()).read(request, reader);
        return reader.done;
    }

    private static <T extends AbstractStub<T>> T within(T stub, Duration time) {
        return time.equals(Patience.WITHOUT_END) ? stub : stub.withDeadlineAfter(time.toMillis(), TimeUnit.MILLISECONDS);
    }

    private static <T> CompletableFuture<T> toFuture(ListenableFuture<T> call) {
        CompletableFuture<T> future = new CompletableFuture<>();
        Futures.addCallback(call, new FutureCallback<T>() {
            @Override
            public void onSuccess(T answer) {
                future.complete(answer);
            }

            @Override
            public void onFailure(Throwable error) {
                future.completeExceptionally(error);
            }
        }, MoreExecutors.directExecutor());
        return future;
    }

    /** What an RPC's failure says. */
    static String describe(Throwable error) {
        Status status = Status.fromThrowable(error);
        String cause = status.getCause() == null ? "" : ", " + status.getCause().getMessage();
        return status.getCode() + " " + status.getDescription() + cause;
    }

    /** Collects the answer to a read. */
    private final class EntryReader implements ClientResponseObserver<ReadRequest, ReadResponse> {
        private final CompletableFuture<List<TableEntry>> done = new CompletableFuture<>();
        private final List<TableEntry> entries = new ArrayList<>();
        private ClientCallStreamObserver<ReadRequest> call;

        @Override
        public void beforeStart(ClientCallStreamObserver<ReadRequest> started) {
            call = started;
        }

        @Override
        public void onNext(ReadResponse response) {
            if (entries.size() + response.getEntitiesCount() > MAX_ENTRIES) {
                call.cancel("more than " + MAX_ENTRIES + " table entries", null);
                return;
            }
            for (Entity entity : response.getEntitiesList()) {
                pipeline.info().decode(entity.getTableEntry()).ifPresent(entries::add);
            }
        }

        @Override
        public void onError(Throwable error) {
            done.completeExceptionally(error);
        }

        @Override
        public void onCompleted() {
            done.complete(entries);
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
            requests.setOnReadyHandler(() -> pass(() -> outbox.drain()));
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
            pass(() -> onStreamError(error));
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

    /** A switch that has not noticed that an earlier stream of ours is gone refuses its election id to the next one. */
    private void onStreamError(Throwable error) {
        if (!primary && wasPrimary && Status.fromThrowable(error).getCode() == Status.Code.INVALID_ARGUMENT) {
            raise(electionId, "the previous one is still held by an earlier stream");
        }
        fail(describe(error));
    }
}

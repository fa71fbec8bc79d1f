// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.grpc.stub.ClientCallStreamObserver;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import p4.v1.P4RuntimeOuterClass.PacketOut;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;

class OutboxTest {
    private static final long LIFE_NS = 100;

    private final Stream stream = new Stream();
    private long nowNs = Long.MAX_VALUE - 50;
    private final Outbox outbox = new Outbox(stream, () -> nowNs, LIFE_NS);

    /** Reads when the test says so. */
    private static final class Stream extends ClientCallStreamObserver<StreamMessageRequest> {
        private final List<StreamMessageRequest> sent = new ArrayList<>();
        private boolean ready;

        @Override
        public boolean isReady() {
            return ready;
        }

        @Override
        public void onNext(StreamMessageRequest message) {
            sent.add(message);
        }

        @Override
        public void cancel(String message, Throwable cause) {
            throw new AssertionError(message);
        }

        @Override
        public void setOnReadyHandler(Runnable handler) {
            throw new AssertionError("the session does that");
        }

        @Override
        public void disableAutoInboundFlowControl() {
            throw new AssertionError("the session does that");
        }

        @Override
        public void request(int count) {
            throw new AssertionError("the session does that");
        }

        @Override
        public void setMessageCompression(boolean enable) {
            throw new AssertionError("nobody wants it");
        }

        @Override
        public void onError(Throwable error) {
            throw new AssertionError(error);
        }

        @Override
        public void onCompleted() {
            throw new AssertionError("nobody ends it");
        }
    }

    private static StreamMessageRequest packet(String payload) {
        return StreamMessageRequest.newBuilder()
                .setPacket(PacketOut.newBuilder().setPayload(ByteString.copyFromUtf8(payload))).build();
    }

    @Test
    void aSwitchThatReadsAgainGetsNoPacketsOfLongAgo() {
        StreamMessageRequest other = StreamMessageRequest.newBuilder().setOther(Any.getDefaultInstance()).build();
        assertTrue(outbox.send(packet("old")));
        assertTrue(outbox.send(other));
        nowNs++;
        assertTrue(outbox.send(packet("young")));
        nowNs += LIFE_NS;
        assertFalse(outbox.isStuck());
        assertTrue(outbox.isStuck());
        assertEquals(List.of(), stream.sent);
        stream.ready = true;
        outbox.drain();
        assertEquals(List.of(other, packet("young")), stream.sent);
        assertFalse(outbox.isStuck());
    }
}

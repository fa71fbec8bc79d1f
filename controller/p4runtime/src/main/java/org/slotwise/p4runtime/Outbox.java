// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import io.grpc.stub.ClientCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;

/** What is sent on a stream, bounded: a switch that does not read must not fill this machine's memory. */
final class Outbox {
    /** Messages kept beside the 32 KiB that gRPC buffers itself. */
    static final int MAX_WAITING = 1024;

    private final ClientCallStreamObserver<StreamMessageRequest> stream;
    private final Deque<StreamMessageRequest> waiting = new ArrayDeque<>();
    private boolean sentSome = true;

    Outbox(ClientCallStreamObserver<StreamMessageRequest> stream) {
        this.stream = stream;
    }

    /** Sends a message now or when the switch reads again; false if too much waits already, and it is dropped. */
    boolean send(StreamMessageRequest message) {
        if (waiting.size() >= MAX_WAITING) {
            return false;
        }
        waiting.add(message);
        drain();
        return true;
    }

    /** To be called when the stream takes messages again. */
    void drain() {
        while (!waiting.isEmpty() && stream.isReady()) {
            stream.onNext(waiting.remove());
            sentSome = true;
        }
    }

    /** Whether something waits and nothing could be sent since this was asked the last time. */
    boolean isStuck() {
        boolean stuck = !waiting.isEmpty() && !sentSome;
        sentSome = false;
        return stuck;
    }
}

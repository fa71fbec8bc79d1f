// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import io.grpc.stub.ClientCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.LongSupplier;
import p4.v1.P4RuntimeOuterClass.StreamMessageRequest;

/**
 * What is sent on a stream, bounded: a switch that does not read must not fill this machine's memory. When it reads again it gets no
 * packets of long ago: a commit that the master was to announce then may not be true any more, and is repeated if it is.
 */
final class Outbox {
    /** Messages kept beside the 32 KiB that gRPC buffers itself. */
    static final int MAX_WAITING = 1024;

    private final ClientCallStreamObserver<StreamMessageRequest> stream;
    private final LongSupplier clockNs;
    private final long packetLifeNs;
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private boolean sentSome = true;

    private record Waiting(StreamMessageRequest message, long sinceNs) {
    }

    /**
     * Takes a stream.
     *
     * @param clockNs ns of a clock that never goes back
     * @param packetLifeNs how long a packet may wait
     */
    Outbox(ClientCallStreamObserver<StreamMessageRequest> stream, LongSupplier clockNs, long packetLifeNs) {
        this.stream = stream;
        this.clockNs = clockNs;
        this.packetLifeNs = packetLifeNs;
    }

    /** Sends a message now or when the switch reads again; false if too much waits already, and it is dropped. */
    boolean send(StreamMessageRequest message) {
        if (waiting.size() >= MAX_WAITING) {
            return false;
        }
        waiting.add(new Waiting(message, clockNs.getAsLong()));
        drain();
        return true;
    }

    /** To be called when the stream takes messages again. */
    void drain() {
        while (!waiting.isEmpty() && stream.isReady()) {
            Waiting next = waiting.remove();
            if (!next.message().hasPacket() || clockNs.getAsLong() - next.sinceNs() <= packetLifeNs) {
                stream.onNext(next.message());
            }
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.SettableFuture;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WriteWindowTest {
    private static final int HALF = WriteWindow.MAX_BYTES / 2;

    private final WriteWindow window = new WriteWindow();
    private final List<SettableFuture<String>> sent = new ArrayList<>();

    private ListenableFuture<String> send(int bytes) {
        return window.send(bytes, () -> {
            SettableFuture<String> answer = SettableFuture.create();
            sent.add(answer);
            return answer;
        });
    }

    @Test
    void whatThereIsNoRoomForWaitsForAnswersWhateverTheySay() throws Exception {
        List<ListenableFuture<String>> answers = List.of(send(HALF), send(HALF), send(1), send(HALF));
        assertEquals(2, sent.size());
        sent.get(0).set("done");
        assertEquals("done", answers.get(0).get());
        assertEquals(3, sent.size(), "the last one has no room yet");
        sent.get(1).setException(new IllegalStateException("refused"));
        assertEquals(4, sent.size());
        sent.get(2).set("third");
        sent.get(3).set("fourth");
        assertEquals("fourth", answers.get(3).get());
    }

    @Test
    void whatIsLargerThanTheWindowGoesAlone() {
        send(1);
        send(2 * WriteWindow.MAX_BYTES);
        send(1);
        assertEquals(1, sent.size());
        sent.get(0).set("");
        assertEquals(2, sent.size());
        sent.get(1).set("");
        assertEquals(3, sent.size());
    }

    /** Its fate would be unknown otherwise. */
    @Test
    void whatIsCancelledWhileItWaitsIsNeverSent() {
        ListenableFuture<String> first = send(WriteWindow.MAX_BYTES);
        ListenableFuture<String> second = send(HALF);
        send(1);
        second.cancel(false);
        first.cancel(false);
        assertTrue(sent.get(0).isCancelled(), "it is on its way");
        assertEquals(2, sent.size());
    }

    @Test
    void answersThatAreThereAtOnceHoldNothingUp() {
        for (int write = 0; write < 1000; write++) {
            window.send(WriteWindow.MAX_BYTES, () -> Futures.immediateFailedFuture(new IllegalStateException("no channel")));
        }
        send(WriteWindow.MAX_BYTES);
        assertEquals(1, sent.size());
    }
}

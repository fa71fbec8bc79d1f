// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
    private static List<Long> waits(Backoff backoff, int failures) {
        return LongStream.range(0, failures).map(failure -> backoff.afterFailure()).boxed().collect(Collectors.toList());
    }

    @Test
    void eachWaitIsTwiceTheOneBeforeUpToTheMaximum() {
        assertEquals(List.of(100L, 200L, 400L, 500L, 500L), waits(Backoff.ofMs(() -> 500), 5));
    }

    @Test
    void aSuccessBeginsAnew() {
        Backoff backoff = new Backoff(1, () -> 16);
        waits(backoff, 3);
        assertEquals(8, backoff.next());
        backoff.reset();
        assertEquals(List.of(1L, 2L), waits(backoff, 2));
    }

    @Test
    void theMaximumMayChange() {
        AtomicLong max = new AtomicLong(300);
        Backoff backoff = Backoff.ofMs(max::get);
        assertEquals(List.of(100L, 200L, 300L), waits(backoff, 3));
        max.set(250);
        assertEquals(List.of(300L, 250L), waits(backoff, 2));
    }

    @Test
    void withoutAMaximumNoWaitOverflows() {
        Backoff backoff = new Backoff(1, () -> Long.MAX_VALUE);
        waits(backoff, Long.SIZE);
        assertEquals(Long.MAX_VALUE, backoff.next());
    }
}

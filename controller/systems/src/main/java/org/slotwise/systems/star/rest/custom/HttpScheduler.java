// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.slotwise.control.Backoff;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.Scheduler;

/**
 * Asks a program for each schedule. After a failure it is left alone for one frame, after the next for two, up to {@link #MAX_PAUSE}:
 * whoever waits for it in vain does nothing else meanwhile.
 */
final class HttpScheduler implements Scheduler {
    /** Longest pause after a failure, in frames that are scheduled. */
    static final int MAX_PAUSE = 64;
    /** Room for the number of an edge, a comma and some white space. */
    private static final long BYTES_A_SENDER = 16;
    private static final long BYTES_BESIDES = 4096;

    private final ProcessProvider program;
    private final Map<String, String> settings;
    private final int instance;
    private final Duration limit;
    private long sequence;
    private final Backoff pauses = new Backoff(1, () -> MAX_PAUSE);
    private long left;
    private String failure;

    HttpScheduler(ProcessProvider program, Map<String, String> settings, int instance, Duration limit) {
        this.program = program;
        this.settings = settings;
        this.instance = instance;
        this.limit = limit;
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        if (left > 0) {
            left--;
            throw new FailedException("scheduler '" + program.name() + "' failed recently, backing off: " + failure);
        }
        try {
            FrameSchedule answer = ask(demandSlots, current);
            pauses.reset();
            return answer;
        } catch (FailedException e) {
            left = pauses.afterFailure();
            failure = e.getMessage();
            throw e;
        }
    }

    private FrameSchedule ask(int[][] demandSlots, FrameSchedule current) {
        sequence++;
        ObjectNode question = SchedulerMessages.question(program.name(), instance, sequence, settings, demandSlots, current);
        HttpRequest request = HttpRequest.newBuilder(program.start()).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(question.toString(), StandardCharsets.UTF_8)).build();
        long most = BYTES_BESIDES + BYTES_A_SENDER * (current.edges() + 1) * current.slots();
        byte[] body = await(request, (int) most);
        try {
            return SchedulerMessages.answer(body, current);
        } catch (InvalidJsonException e) {
            throw failed("invalid schedule: " + e.getMessage());
        }
    }

    private byte[] await(HttpRequest request, int most) {
        try {
            return program.await(request, response -> response.statusCode() == 200 ? new BoundedBody(most)
                    : BoundedBody.failed("response status " + response.statusCode()), limit);
        } catch (TimeoutException e) {
            program.wasLate();
            throw failed("no response within " + limit.toMillis() + " ms");
        } catch (IOException e) {
            throw failed(e instanceof BoundedBody.RefusedException ? e.getMessage() : "no response: " + e);
        }
    }

    private FailedException failed(String what) {
        return new FailedException("program '" + program.name() + "': " + what);
    }
}

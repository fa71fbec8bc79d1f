// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.ControllerService;

/**
 * What a controller says on the live page, kept for whoever asks ({@code batch} of {@code schema/stream.schema.json}). The controller is
 * asked only when somebody asks for it here and the last answer is old; all readers get the same messages, of which a bounded number is
 * kept. May be called from any thread.
 */
public final class PageStream {
    /** The controller is asked no sooner again. */
    static final long PERIOD_MS = 500;
    /** Nor before so many times as long as the last answer took: a large network costs no larger part of a core. */
    private static final long LEAST_PERIODS = 10;
    /** Of the updates that are kept; the last one is, however long. */
    static final int MOST_KEPT_CHARS = 4 << 20;
    private static final Pattern CURSOR = Pattern.compile("([0-9a-f]{16})-([0-9]{1,15})");

    private final ControllerService service;
    private final LongSupplier clockMs;

    private final ReentrantLock sampling = new ReentrantLock();
    /** These two belong to who samples. */
    private long dueMs = Long.MIN_VALUE;
    private Map<String, AppPage.Said> said = Map.of();

    /** Empty until the controller has been asked. */
    private String hello = "";
    /** When that was said, ms; the name of the stream. */
    private long sinceMs;
    private long nowMs;
    /** Number of the first update that is kept. */
    private long first;
    private final Deque<String> kept = new ArrayDeque<>();
    private long keptChars;

    /** Takes a clock in ms; where it goes back, time stands. */
    public PageStream(ControllerService service, LongSupplier clockMs) {
        this.service = service;
        this.clockMs = clockMs;
    }

    /** Whether somebody may ask with this. */
    public static boolean isCursor(String text) {
        return CURSOR.matcher(text).matches();
    }

    /**
     * The messages since {@code cursor}, or all that are kept if it is of another stream, or empty; throws
     * {@link ControllerService.UnavailableException} if the controller does not answer.
     */
    public String since(String cursor) {
        // Who asks meanwhile gets what there is: no thread waits for another one, but for the very first answer.
        boolean mine = sampling.tryLock();
        if (!mine && !hasBegun()) {
            sampling.lock();
            mine = true;
        }
        if (mine) {
            try {
                sample();
            } finally {
                sampling.unlock();
            }
        }
        return read(cursor);
    }

    private void sample() {
        // A controller that is gone is told at once, not when the last answer is old.
        List<SystemResources<?>> apps = service.apps();
        long beganMs = clockMs.getAsLong();
        if (beganMs < dueMs) {
            return;
        }
        List<AppPage> pages = apps.stream().map(SystemResources::page).flatMap(page -> page.stream()).collect(Collectors.toList());
        String now = PageMessages.hello(pages).toString();
        if (begin(now, beganMs)) {
            said = Map.of();
        }
        keep(PageMessages.update(pages, elapsedNs(beganMs), said).toString());
        said = PageMessages.said(pages);
        dueMs = beganMs + Math.max(PERIOD_MS, LEAST_PERIODS * (clockMs.getAsLong() - beganMs));
    }

    private synchronized boolean hasBegun() {
        return !hello.isEmpty();
    }

    /** Begins a stream anew if the network is another one. */
    private synchronized boolean begin(String now, long atMs) {
        if (now.equals(hello)) {
            return false;
        }
        hello = now;
        sinceMs = Math.max(sinceMs + 1, atMs);
        nowMs = sinceMs;
        first = 0;
        kept.clear();
        keptChars = 0;
        return true;
    }

    private synchronized long elapsedNs(long atMs) {
        nowMs = Math.max(nowMs, atMs);
        return (nowMs - sinceMs) * 1_000_000;
    }

    private synchronized void keep(String update) {
        kept.add(update);
        keptChars += update.length();
        while (keptChars > MOST_KEPT_CHARS && kept.size() > 1) {
            keptChars -= kept.remove().length();
            first++;
        }
    }

    private synchronized String read(String cursor) {
        String stream = String.format("%016x", sinceMs);
        long next = first + kept.size();
        Matcher asked = CURSOR.matcher(cursor);
        List<String> messages = new ArrayList<>();
        long from = first;
        if (asked.matches() && asked.group(1).equals(stream) && Long.parseLong(asked.group(2)) <= next) {
            from = Math.max(first, Long.parseLong(asked.group(2)));
        } else {
            messages.add(hello);
        }
        kept.stream().skip(from - first).forEach(messages::add);
        return PageMessages.batch(stream + "-" + next, messages);
    }
}

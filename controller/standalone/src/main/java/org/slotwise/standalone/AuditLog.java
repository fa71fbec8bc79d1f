// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.status.Status;
import ch.qos.logback.core.util.Duration;
import ch.qos.logback.core.util.FileSize;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/**
 * Who changed what, and what came of it: one JSON object a line. {@code audit.jsonl} has each request that would change
 * something, and each choice of a scheduler, a capacity and whatever else applications have; {@code schedules.jsonl}, which
 * grows faster, each schedule that came into force. Each file is kept to {@link #MAX_BYTES}, with as much of what came before
 * in {@code audit.1.jsonl} and {@code schedules.1.jsonl}. A thread of its own writes, so that no disk delays the controller; what
 * a disk that is full, or too slow, does not take is lost, and the log says so.
 */
final class AuditLog implements AutoCloseable {
    private static final String ACCESS = "audit";
    private static final String SCHEDULES = "schedules";
    /** Size at which a new file is begun. */
    static final long MAX_BYTES = 16 << 20;
    private static final org.slf4j.Logger LOG = LoggerFactory.getLogger(AuditLog.class);
    private static final int MAX_WAITING = 8192;
    private static final int FLUSH_MS = 2000;

    private final LoggerContext context = new LoggerContext();
    private final Clock clock;
    private final Logger access;
    private final Logger schedules;
    private final AtomicLong lost = new AtomicLong();

    AuditLog(Path directory, Clock clock, long maxBytes) throws IOException {
        this.clock = clock;
        Files.createDirectories(directory);
        for (String name : List.of(ACCESS, SCHEDULES)) {
            BoundedFiles.exists(directory.resolve(name + ".jsonl"));
        }
        context.setMDCAdapter(new LogbackMDCAdapter());
        context.getStatusManager().add(AuditLog::report);
        this.access = file(directory, ACCESS, maxBytes);
        this.schedules = file(directory, SCHEDULES, maxBytes);
    }

    private static void report(Status status) {
        if (status.getEffectiveLevel() >= Status.WARN) {
            String cause = status.getThrowable() == null ? "" : ": " + status.getThrowable().getMessage();
            LOG.error("audit: {}{}", status.getMessage(), cause);
        }
    }

    private Logger file(Path directory, String name, long maxBytes) {
        PatternLayoutEncoder lines = new PatternLayoutEncoder();
        lines.setContext(context);
        lines.setPattern("%msg%n");
        RollingFileAppender<ILoggingEvent> file = new RollingFileAppender<>();
        file.setContext(context);
        file.setName(name);
        file.setFile(directory.resolve(name + ".jsonl").toString());
        file.setEncoder(lines);
        FixedWindowRollingPolicy rolling = new FixedWindowRollingPolicy();
        rolling.setContext(context);
        rolling.setParent(file);
        rolling.setFileNamePattern(directory.resolve(name).toString().replace("%", "\\%") + ".%i.jsonl");
        rolling.setMinIndex(1);
        rolling.setMaxIndex(1);
        SizeBasedTriggeringPolicy<ILoggingEvent> full = new SizeBasedTriggeringPolicy<>();
        full.setContext(context);
        full.setMaxFileSize(new FileSize(maxBytes));
        full.setCheckIncrement(Duration.buildByMilliseconds(0));
        file.setRollingPolicy(rolling);
        file.setTriggeringPolicy(full);
        AsyncAppender async = new AsyncAppender();
        async.setContext(context);
        async.setName(name);
        async.setQueueSize(MAX_WAITING);
        async.setDiscardingThreshold(0);
        async.setNeverBlock(true);
        async.setMaxFlushTime(FLUSH_MS);
        lines.start();
        rolling.start();
        full.start();
        file.start();
        async.addAppender(file);
        async.start();
        Logger logger = context.getLogger(name);
        logger.setAdditive(false);
        logger.addAppender(async);
        return logger;
    }

    /** A request that would change something was answered. */
    void request(String from, String method, String path, int status) {
        write(access, entry("request").put("from", from).put("method", method).put("path", path).put("status", status));
    }

    /** Something was chosen, in a word, and what there is to be said of it: what held before and what holds now among it. */
    void choice(String what, ObjectNode fields) {
        write(access, entry(what).setAll(fields));
    }

    /** Something came into force; {@code event} is its kind. */
    void history(ObjectNode fields) {
        write(schedules, time().setAll(fields));
    }

    private ObjectNode entry(String event) {
        return time().put("event", event);
    }

    private ObjectNode time() {
        return JsonNodeFactory.instance.objectNode().put("time", clock.instant().toString());
    }

    private void write(Logger file, ObjectNode entry) {
        AsyncAppender async = (AsyncAppender) file.getAppender(file.getName());
        if (async.getRemainingCapacity() == 0) {
            if (lost.getAndIncrement() == 0) {
                LOG.error("audit: queue full, losing records: first {}", entry);
            }
            return;
        }
        file.info(entry.toString());
    }

    /** Writes what waits, for a while. */
    @Override
    public void close() {
        context.stop();
        if (lost.get() > 0) {
            LOG.error("audit: {} records lost", lost.get());
        }
    }
}

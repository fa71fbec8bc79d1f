// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who changed what: one JSON object a line, for each request that would change something, each choice of a scheduler, each
 * master that was shut down or taken back, and each schedule that came into force. The file is kept to {@link #MAX_BYTES}; what came before is in {@code audit.1.jsonl}.
 */
final class AuditLog implements AutoCloseable {
    static final String FILE = "audit.jsonl";
    static final String OLD_FILE = "audit.1.jsonl";
    private static final Logger LOG = LoggerFactory.getLogger(AuditLog.class);

    /** Size at which a new file is begun. */
    static final long MAX_BYTES = 16 << 20;

    private final Path directory;
    private final Clock clock;
    private final long maxBytes;
    private Writer file;
    private long bytes;

    AuditLog(Path directory, Clock clock, long maxBytes) throws IOException {
        this.directory = directory;
        this.clock = clock;
        this.maxBytes = maxBytes;
        Files.createDirectories(directory);
        open();
    }

    private void open() throws IOException {
        Path path = directory.resolve(FILE);
        file = Files.newBufferedWriter(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        bytes = Files.size(path);
    }

    /** A request that would change something was answered. */
    void request(String from, String method, String path, int status) {
        write(entry("request").put("from", from).put("method", method).put("path", path).put("status", status));
    }

    /** Another scheduler was chosen. */
    void scheduler(ObjectNode before, ObjectNode after) {
        ObjectNode entry = entry("scheduler");
        entry.set("before", before);
        entry.set("after", after);
        write(entry);
    }

    /** A master was shut down, or taken back. */
    void shutdown(int core, boolean before, boolean after) {
        write(entry("shutdown").put("core", core).put("before", before).put("after", after));
    }

    /** A schedule came into force; {@code core} says in which of several stars. */
    void schedule(OptionalInt core, long version, int changedConnections) {
        ObjectNode entry = entry("schedule");
        core.ifPresent(number -> entry.put("core", number));
        write(entry.put("version", version).put("changed_connections", changedConnections));
    }

    private ObjectNode entry(String event) {
        return JsonNodeFactory.instance.objectNode().put("time", clock.instant().toString()).put("event", event);
    }

    /** Writes at once, so that a crash loses nothing; a disk that is full must not stop the network. */
    private synchronized void write(ObjectNode entry) {
        String line = entry + "\n";
        try {
            if (bytes + line.length() > maxBytes) {
                file.close();
                Files.move(directory.resolve(FILE), directory.resolve(OLD_FILE),
                        StandardCopyOption.REPLACE_EXISTING);
                open();
            }
            file.write(line);
            file.flush();
            bytes += line.getBytes(StandardCharsets.UTF_8).length;
        } catch (IOException e) {
            LOG.error("the audit log cannot be written: {}: {}", e, entry);
        }
    }

    @Override
    public synchronized void close() {
        try {
            file.close();
        } catch (IOException e) {
            LOG.warn("the audit log was not closed", e);
        }
    }
}

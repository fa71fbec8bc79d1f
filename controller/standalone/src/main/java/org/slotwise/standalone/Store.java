// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/**
 * What must survive a restart: the last election id, and what applications keep. One small file with its SHA-256 in the first line, replaced as a whole: whenever the machine stops, it is the one before or the next one. A
 * file that is neither is refused, since it would silently take back what somebody chose.
 */
final class Store implements AutoCloseable {
    static final String FILE = "controller.store";
    private static final Logger LOG = LoggerFactory.getLogger(Store.class);
    private static final String NEXT_FILE = "controller.store.next";
    private static final String LOCK_FILE = "controller.lock";
    private static final String HEAD = "slotwise-store 1 sha256 ";
    private static final int MAX_BYTES = 1 << 20;
    private static final String ELECTION_ID = "election_id";

    private final Path directory;
    private final FileChannel lock;
    /** Replaced as a whole, so that it can be read while it is written. */
    private volatile Map<String, String> values;

    private Store(Path directory, FileChannel lock, Map<String, String> values) {
        this.directory = directory;
        this.lock = lock;
        this.values = values;
    }

    /**
     * Opens the store in {@code directory}, which is made if need be. Throws IOException if another controller has it open, if
     * it is damaged, or if it cannot be read.
     */
    static Store open(Path directory) throws IOException {
        Files.createDirectories(directory);
        FileChannel lock = openFile(directory.resolve(LOCK_FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (tryLock(lock) == null) {
                throw new IOException("store " + directory + ": in use by another controller");
            }
            return new Store(directory, lock, read(directory.resolve(FILE)));
        } catch (IOException e) {
            lock.close();
            throw e;
        }
    }

    private static FileChannel openFile(Path file, OpenOption... options) throws IOException {
        BoundedFiles.exists(file);
        return FileChannel.open(file, options);
    }

    private static FileLock tryLock(FileChannel file) throws IOException {
        try {
            return file.tryLock();
        } catch (OverlappingFileLockException sameProcess) {
            return null;
        }
    }

    private static Map<String, String> read(Path file) throws IOException {
        Map<String, String> read = new TreeMap<>();
        if (!BoundedFiles.exists(file)) {
            return read;
        }
        if (Files.size(file) > MAX_BYTES) {
            throw damaged(file, "larger than " + MAX_BYTES + " bytes");
        }
        String text = new String(BoundedFiles.read(file, MAX_BYTES), StandardCharsets.ISO_8859_1);
        int line = text.indexOf('\n');
        byte[] body = text.substring(line + 1).getBytes(StandardCharsets.ISO_8859_1);
        if (line < 0 || !text.substring(0, line).equals(HEAD + hash(body))) {
            throw damaged(file, "checksum mismatch");
        }
        try {
            for (Map.Entry<String, JsonNode> value : JsonFields.parse(body).properties()) {
                read.put(value.getKey(), value.getValue().asText());
            }
        } catch (InvalidJsonException e) {
            throw damaged(file, e.getMessage());
        }
        return read;
    }

    private static IOException damaged(Path file, String reason) {
        return new IOException("store " + file + " is damaged: " + reason + ". It has the settings made at run time;"
                + " restore a copy, or remove it to start from the configuration");
    }

    private static String hash(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("missing SHA-256", e);
        }
    }

    /** Writes all to a file of its own, and puts that in the place of the one before. Changes nothing if that fails. */
    private void replace(Map<String, String> next) throws IOException {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        next.forEach(state::put);
        byte[] body = (state + "\n").getBytes(StandardCharsets.UTF_8);
        byte[] head = (HEAD + hash(body) + "\n").getBytes(StandardCharsets.US_ASCII);
        if (head.length + body.length > MAX_BYTES) {
            throw new IOException("store " + directory + ": full; expected at most " + MAX_BYTES + " bytes");
        }
        Path written = directory.resolve(NEXT_FILE);
        try {
            try (FileChannel file = openFile(written, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE)) {
                ByteBuffer bytes = ByteBuffer.allocate(head.length + body.length).put(head).put(body).flip();
                while (bytes.hasRemaining()) {
                    file.write(bytes);
                }
                file.force(true);
            }
            Files.move(written, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new IOException("store " + directory + ": write failed: " + e.getMessage(), e);
        }
        values = next;
        forceNames();
    }

    /** What was moved is read again from now on, so that a failure is not the caller's: only a power cut could take it back. */
    private void forceNames() {
        try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
            names.force(true);
        } catch (IOException e) {
            LOG.warn("store {}: written but not synced to disk: {}", directory, e.getMessage());
        }
    }

    /**
     * An election id higher than any given before, also if the store was lost: it starts from the time of day. Throws
     * IOException if it cannot be kept.
     */
    long nextElectionId(Instant now) throws IOException {
        long last = 0;
        try {
            last = Long.parseLong(values.getOrDefault(ELECTION_ID, "0"));
        } catch (NumberFormatException e) {
            LOG.warn("invalid stored election id: starting from the time of day");
        }
        long next = Math.max(last + 1, now.getEpochSecond());
        Map<String, String> changed = new TreeMap<>(values);
        changed.put(ELECTION_ID, Long.toString(next));
        replace(changed);
        return next;
    }

    /** Settings of an application, each under its name and a dot; the store's own key has no dot. */
    AppState state(String app) {
        String prefix = app + ".";
        return new AppState() {
            @Override
            public Map<String, String> all() {
                Map<String, String> own = new TreeMap<>();
                values.forEach((key, value) -> {
                    if (key.startsWith(prefix)) {
                        own.put(key.substring(prefix.length()), value);
                    }
                });
                return own;
            }

            @Override
            public void keep(String key, String value) throws IOException {
                Map<String, String> changed = new TreeMap<>(values);
                changed.put(prefix + key, value);
                replace(changed);
            }

            @Override
            public void keepOnly(Map<String, String> texts) throws IOException {
                Map<String, String> changed = new TreeMap<>(values);
                changed.keySet().removeIf(key -> key.startsWith(prefix));
                texts.forEach((key, value) -> changed.put(prefix + key, value));
                replace(changed);
            }
        };
    }

    /** Lets another controller open it. */
    @Override
    public void close() {
        try {
            lock.close();
        } catch (IOException e) {
            LOG.warn("store not closed: {}", e.getMessage());
        }
    }
}

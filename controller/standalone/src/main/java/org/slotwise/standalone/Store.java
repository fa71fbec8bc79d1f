// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.core.Event;
import org.slotwise.core.network.CoreId;
import org.slotwise.core.schedule.InvalidSettingsException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.SchedulerCodec;

/** What must survive a restart: the last election id, the scheduler that was chosen at run time, masters shut down. */
final class Store implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Store.class);
    private static final String FILE = "controller.mv";
    private static final String ELECTION_ID = "election_id";
    private static final String SCHEDULER = "scheduler";
    private static final String SHUT_DOWN = "shut_down_";
    private static final String CONFIGURED_SCHEDULER = "configured_scheduler";

    private final MVStore file;
    private final MVMap<String, String> values;

    private Store(MVStore file) {
        this.file = file;
        this.values = file.openMap("state");
    }

    /** Opens the store in {@code directory}, which is made if need be; fails if another controller has it open. */
    static Store open(Path directory) throws IOException {
        Files.createDirectories(directory);
        try {
            return new Store(new MVStore.Builder().fileName(directory.resolve(FILE).toString())
                    .autoCommitDisabled().open());
        } catch (MVStoreException e) {
            throw new IOException("the store in " + directory + " cannot be opened: " + e.getMessage(), e);
        }
    }

    /** An election id higher than any given before, also if the store was lost: it starts from the time of day. */
    long nextElectionId(Instant now) {
        long last = 0;
        try {
            last = Long.parseLong(values.getOrDefault(ELECTION_ID, "0"));
        } catch (NumberFormatException e) {
            LOG.warn("the stored election id is no number; starting from the time of day");
        }
        long next = Math.max(last + 1, now.getEpochSecond());
        values.put(ELECTION_ID, Long.toString(next));
        file.commit();
        return next;
    }

    /** Keeps a choice that was made at run time, over the one that the configuration has. */
    void keep(Event.SchedulerChosen choice, Event.SchedulerChosen configuredChoice) {
        values.putAll(Map.of(SCHEDULER, text(choice), CONFIGURED_SCHEDULER, text(configuredChoice)));
        file.commit();
    }

    /** The choice made at run time, unless there is none or the configuration has changed since. */
    Optional<Event.SchedulerChosen> scheduler(Event.SchedulerChosen configuredChoice) {
        String stored = values.get(SCHEDULER);
        if (stored == null || !text(configuredChoice).equals(values.get(CONFIGURED_SCHEDULER))) {
            return Optional.empty();
        }
        try {
            JsonNode choice = JsonFields.parse(stored.getBytes(StandardCharsets.UTF_8));
            return Optional.of(SchedulerCodec.decode("", choice));
        } catch (InvalidJsonException | InvalidSettingsException e) {
            LOG.warn("the stored scheduler is not used: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /** Keeps whether a core's master is shut down. */
    void keep(Event.MasterShutdown shutdown) {
        if (shutdown.isDown()) {
            values.put(SHUT_DOWN + shutdown.core(), "true");
        } else {
            values.remove(SHUT_DOWN + shutdown.core());
        }
        file.commit();
    }

    /** Whether a core's master is shut down. */
    boolean isShutDown(CoreId core) {
        return values.containsKey(SHUT_DOWN + core);
    }

    private static String text(Event.SchedulerChosen choice) {
        return SchedulerCodec.encode(choice.kind(), choice.settings()).toString();
    }

    @Override
    public void close() {
        file.close();
    }
}

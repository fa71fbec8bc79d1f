// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.apps.Choice;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.star.app.MasterShutdown;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.schedule.InvalidSettingsException;

/**
 * What people choose for stars, and how it is kept: the scheduler, with the one of the configuration that it took the place of, so
 * that another one there holds; and which masters are shut down.
 */
public final class KeptStar {
    /** Key of the configured scheduler and the one chosen in its place: one entry, so that no reader sees half of it. */
    private static final String SCHEDULER = "scheduler";
    /** Between the two; JSON text has no such character. */
    private static final String SEPARATOR = "\n";
    private static final String SHUT_DOWN = "shut_down_";
    private static final Logger LOG = LoggerFactory.getLogger(KeptStar.class);

    private KeptStar() {
    }

    /** The scheduler chosen at run time, unless there is none or the configuration has changed since. */
    public static Optional<SchedulerChosen> scheduler(AppState state, SchedulerChosen configured) {
        String stored = state.all().getOrDefault(SCHEDULER, "");
        String before = encode(configured) + SEPARATOR;
        if (!stored.startsWith(before)) {
            return Optional.empty();
        }
        try {
            JsonNode choice = JsonFields.parse(stored.substring(before.length()).getBytes(StandardCharsets.UTF_8));
            return Optional.of(SchedulerCodec.decode("", choice, configured.kind().catalogue()));
        } catch (InvalidJsonException | InvalidSettingsException e) {
            LOG.warn("ignored the stored scheduler: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /** Whether a core's master is shut down. */
    static boolean isShutDown(AppState state, CoreId core) {
        return state.all().containsKey(SHUT_DOWN + core);
    }

    static ObjectNode encode(SchedulerChosen choice) {
        return SchedulerCodec.encode(choice.kind(), choice.settings());
    }

    /** A scheduler in the place of the one that is configured. */
    public static Choice<Snapshot> choice(SchedulerChosen chosen, SchedulerChosen configured) {
        return new Choice<>() {
            @Override
            public String what() {
                return SCHEDULER;
            }

            @Override
            public String title() {
                return "the scheduler";
            }

            @Override
            public Event.Order order() {
                return chosen;
            }

            @Override
            public ObjectNode told() {
                return encode(chosen);
            }

            @Override
            public ObjectNode audited(Snapshot before) {
                ObjectNode entry = JsonNodeFactory.instance.objectNode();
                entry.set("before", SchedulerCodec.encode(before.scheduler(), before.schedulerSettings()));
                entry.set("after", told());
                return entry;
            }

            @Override
            public void keep(AppState state) throws IOException {
                state.keep(SCHEDULER, encode(configured) + SEPARATOR + encode(chosen));
            }
        };
    }

    /** A master that is shut down, or taken back. */
    static Choice<Snapshot> choice(MasterShutdown shutdown) {
        return new Choice<>() {
            @Override
            public String what() {
                return StarResources.SHUTDOWN;
            }

            @Override
            public String title() {
                return "the master's state";
            }

            @Override
            public Event.Order order() {
                return shutdown;
            }

            @Override
            public ObjectNode told() {
                return JsonNodeFactory.instance.objectNode().put("core", shutdown.core().value()).put("down", shutdown.isDown());
            }

            @Override
            public ObjectNode audited(Snapshot before) {
                boolean wasDown = before.states().stream()
                        .anyMatch(star -> star.network().core().id().equals(shutdown.core()) && star.isShutDown());
                return JsonNodeFactory.instance.objectNode().put("core", shutdown.core().value())
                        .put("before", wasDown).put("after", shutdown.isDown());
            }

            @Override
            public void keep(AppState state) throws IOException {
                Map<String, String> changed = new TreeMap<>(state.all());
                if (shutdown.isDown()) {
                    changed.put(SHUT_DOWN + shutdown.core(), "true");
                } else {
                    changed.remove(SHUT_DOWN + shutdown.core());
                }
                state.keepOnly(changed);
            }
        };
    }
}

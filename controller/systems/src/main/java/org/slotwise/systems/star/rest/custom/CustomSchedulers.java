// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.system.Extension;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.star.rest.StarSystem;
import org.slotwise.systems.star.schedule.Reasons;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.Schedulers;

/**
 * Custom schedulers by name, from a section of the host's configuration: {@code {"jar": FILE}} has a Java class,
 * {@code {"command": [...]}} a program that is asked over HTTP.
 */
public final class CustomSchedulers implements Extension {
    private static final Logger LOG = LoggerFactory.getLogger(CustomSchedulers.class);
    private static final int MAX_SCHEDULERS = 64;
    private static final int MAX_ARGUMENTS = 256;
    private static final int MAX_LIMIT_MS = 60_000;
    private static final int DEFAULT_LIMIT_MS = 100;
    /** Where time stands still meanwhile; the engine waits twice as long for a controller. */
    private static final int LOCKSTEP_LIMIT_MS = 30_000;
    /** Limit of a class, which shares the CPU with the controller: what takes so long is a defect. */
    private static final int JAR_LIMIT_MS = 5000;

    private final List<AutoCloseable> open = new ArrayList<>();
    private final List<ProcessProvider> programs = new ArrayList<>();
    private Schedulers all = Schedulers.ours();

    private CustomSchedulers() {
    }

    /** Returns schedulers without custom ones. */
    static CustomSchedulers none() {
        return new CustomSchedulers();
    }

    /**
     * Reads the section and loads the jars; programs begin with {@link #prepare}, or when they are asked first.
     *
     * @param waits whether time stands still while a program is asked, so that only a defect makes it late
     */
    public static CustomSchedulers read(String where, JsonNode value, boolean waits) throws IOException, InvalidJsonException {
        CustomSchedulers own = new CustomSchedulers();
        try {
            own.add(where, value, waits);
            return own;
        } catch (IOException | InvalidJsonException | RuntimeException | Error e) {
            own.close();
            throw e;
        }
    }

    private void add(String where, JsonNode value, boolean waits) throws IOException, InvalidJsonException {
        JsonFields named = JsonFields.open(where, value);
        if (value.size() > MAX_SCHEDULERS) {
            throw new InvalidJsonException(where, "expected at most " + MAX_SCHEDULERS + " schedulers, got " + value.size());
        }
        List<SchedulerProvider> providers = new ArrayList<>();
        for (Iterator<String> names = value.fieldNames(); names.hasNext();) {
            String name = names.next();
            String place = named.place(name);
            JsonFields fields = JsonFields.of(place, value.get(name), "jar", "command", "directory", "limit_ms", "settings");
            if (fields.optional("jar").isPresent() == fields.optional("command").isPresent()) {
                throw new InvalidJsonException(place, "expected either 'jar' or 'command'");
            }
            providers.add(fields.optional("jar").isPresent()
                    ? fromJar(name, fields, waits) : process(name, fields, waits));
        }
        try {
            all = all.with(providers);
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(where, e.getMessage());
        }
    }

    private SchedulerProvider fromJar(String name, JsonFields fields, boolean waits) throws IOException, InvalidJsonException {
        for (String key : List.of("directory", "limit_ms", "settings")) {
            if (fields.optional(key).isPresent()) {
                throw new InvalidJsonException(fields.place(key), "not allowed with 'jar'; expected 'command'");
            }
        }
        Path jar = file(fields.place("jar"), fields.text("jar"));
        if (!Files.isRegularFile(jar)) {
            throw new InvalidJsonException(fields.place("jar"), "no such file: " + jar);
        }
        URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, Schedulers.class.getClassLoader());
        open.add(loader);
        Map<String, SchedulerProvider> found = new TreeMap<>();
        try {
            JarProvider.load(loader, Duration.ofMillis(waits ? LOCKSTEP_LIMIT_MS : JAR_LIMIT_MS))
                    .forEach(provider -> found.put(provider.name(), provider));
        } catch (RuntimeException | Error e) {
            throw new InvalidJsonException(fields.place("jar"), jar + ": " + Reasons.of(e));
        }
        if (!found.containsKey(name)) {
            throw new InvalidJsonException(fields.place("jar"), jar + ": unknown scheduler '" + name + "'; expected "
                    + (found.isEmpty() ? "schedulers in META-INF/services/" + SchedulerProvider.class.getName()
                            : "one of " + String.join(", ", found.keySet())));
        }
        return found.get(name);
    }

    private static Path file(String place, String text) throws InvalidJsonException {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new InvalidJsonException(place, e.getMessage());
        }
    }

    private SchedulerProvider process(String name, JsonFields fields, boolean waits) throws InvalidJsonException {
        List<String> command = fields.list("command", JsonFields::text);
        if (command.isEmpty() || command.size() > MAX_ARGUMENTS) {
            throw new InvalidJsonException(fields.place("command"), "expected 1 .. " + MAX_ARGUMENTS + " strings, got " + command.size());
        }
        long limitMs = fields.optional("limit_ms").isPresent() ? fields.integer("limit_ms", 1, MAX_LIMIT_MS) : DEFAULT_LIMIT_MS;
        Optional<Path> directory = fields.optional("directory").isPresent()
                ? Optional.of(file(fields.place("directory"), fields.text("directory"))) : Optional.empty();
        ProcessProvider provider = new ProcessProvider(name, command, directory, defaults(fields),
                Duration.ofMillis(waits ? LOCKSTEP_LIMIT_MS : limitMs), waits);
        open.add(provider);
        programs.add(provider);
        return provider;
    }

    /** What can be set in a program, with defaults; all of it is text there. */
    private static Map<String, String> defaults(JsonFields fields) throws InvalidJsonException {
        Map<String, String> defaults = new TreeMap<>();
        Optional<JsonNode> settings = fields.optional("settings");
        if (settings.isPresent()) {
            JsonFields named = JsonFields.open(fields.place("settings"), settings.get());
            for (Iterator<String> names = settings.get().fieldNames(); names.hasNext();) {
                String name = names.next();
                JsonNode value = settings.get().get(name);
                defaults.put(name, value.isIntegralNumber() ? value.asText() : named.text(name));
            }
        }
        return defaults;
    }

    /** Returns all schedulers, ours first. */
    Schedulers all() {
        return all;
    }

    @Override
    public StarSystem kind() {
        return new StarSystem(all);
    }

    /** Starts the programs. One that does not begin is no reason not to go on: whoever chooses it keeps the schedule that there is. */
    @Override
    public void prepare() {
        List<Thread> all = programs.stream().map(program -> new Thread(program::prepare, "scheduler " + program.name()))
                .collect(Collectors.toList());
        all.forEach(Thread::start);
        try {
            for (Thread one : all) {
                one.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends the programs. */
    @Override
    public void close() {
        for (AutoCloseable one : open) {
            try {
                one.close();
            } catch (Exception e) {
                LOG.warn("scheduler shutdown failed: {}", e.toString());
            }
        }
        open.clear();
    }
}

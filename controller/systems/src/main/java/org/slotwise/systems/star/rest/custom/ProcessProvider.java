// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.SchedulerSettings;
import org.slotwise.systems.star.schedule.Setting;

/**
 * A scheduler that is a program: started when it is needed first, it says on the first line of its output at which port of
 * 127.0.0.1 it listens, and is asked there ({@code schema/scheduler.schema.json}). It is to end when its standard input does, which
 * happens however this process ends.
 */
final class ProcessProvider implements SchedulerProvider, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessProvider.class);
    private static final Duration START_LIMIT = Duration.ofSeconds(20);
    private static final int HELLO_LIMIT_MS = 5000;
    private static final long END_LIMIT_MS = 1000;
    private static final int MAX_LINE = 1024;
    private static final String MARGIN = System.lineSeparator() + "    ";
    private static final int MAX_LINES = 1000;
    /** Time within which what is written belongs together, such as a traceback. */
    private static final long PAUSE_MS = 20;
    private static final int MAX_PORT = 65_535;
    private static final String PRACTICE = "{}";

    private final String name;
    private final List<String> command;
    private final Optional<Path> directory;
    private final Map<String, String> defaults;
    private final Duration limit;
    private final AtomicInteger instances = new AtomicInteger();
    private final boolean endsWhenLate;
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY).followRedirects(HttpClient.Redirect.NEVER).build();
    private Process process;
    private URI address;

    /**
     * Starts nothing yet.
     *
     * @param limit longest wait for an answer
     * @param endsWhenLate whether a program that was late once is ended
     */
    ProcessProvider(String name, List<String> command, Optional<Path> directory, Map<String, String> defaults, Duration limit,
            boolean endsWhenLate) {
        this.name = name;
        this.command = List.copyOf(command);
        this.directory = directory;
        this.defaults = Map.copyOf(defaults);
        this.limit = limit;
        this.endsWhenLate = endsWhenLate;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String description() {
        // Its arguments may be secrets, and this is shown to all.
        return "Program " + new File(command.get(0)).getName();
    }

    @Override
    public List<Setting> settings() {
        List<Setting> settings = new ArrayList<>();
        defaults.keySet().stream().sorted().forEach(
                key -> settings.add(Setting.text(key, "Setting of the program.", defaults.get(key))));
        return settings;
    }

    @Override
    public boolean runsElsewhere() {
        return true;
    }

    @Override
    public Scheduler create(SchedulerSettings settings) {
        return new HttpScheduler(this, settings.texts(), instances.incrementAndGet(), limit);
    }

    /**
     * Starts it, connects to it without a word, and practises asking, so that the first question finds both sides awake; what does not
     * work shows when it is asked.
     */
    void prepare() {
        try (Socket hello = new Socket()) {
            hello.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), start().getPort()), HELLO_LIMIT_MS);
            practise();
        } catch (Scheduler.FailedException | IOException | TimeoutException e) {
            LOG.warn("scheduler '{}': {}", name, e.getMessage());
        }
    }

    /** Asks a server of this process: in a JVM the first call takes longer than a program may for its answer. */
    private void practise() throws IOException, TimeoutException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread thread = new Thread(() -> respondOnce(server), "scheduler " + name + ": practice");
            thread.setDaemon(true);
            thread.start();
            await(HttpRequest.newBuilder(at(server.getLocalPort())).POST(HttpRequest.BodyPublishers.ofString(PRACTICE)).build(),
                    response -> HttpResponse.BodySubscribers.discarding(), START_LIMIT);
        }
    }

    private static void respondOnce(ServerSocket server) {
        try (Socket caller = server.accept()) {
            BufferedReader request = new BufferedReader(new InputStreamReader(caller.getInputStream(), StandardCharsets.US_ASCII));
            String line = line(request);
            while (line != null && !line.isEmpty()) {
                line = line(request);
            }
            // A socket that is closed with unread data resets the connection.
            request.skip(PRACTICE.length());
            caller.getOutputStream().write("HTTP/1.1 204 No Content\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            LOG.debug("practice request not answered", e);
        }
    }

    private static URI at(int port) {
        return URI.create("http://127.0.0.1:" + port + "/");
    }

    /** Asks, for at most so long; a connection on which an answer is still to come is closed then. */
    <T> T await(HttpRequest request, HttpResponse.BodyHandler<T> handler, Duration longest) throws TimeoutException, IOException {
        CompletableFuture<HttpResponse<T>> answer = client.sendAsync(request, handler);
        try {
            return answer.get(longest.toMillis(), TimeUnit.MILLISECONDS).body();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException ? (IOException) e.getCause() : new IOException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Scheduler.FailedException("program '" + name + "': interrupted");
        } finally {
            answer.cancel(true);
        }
    }

    /** It let its time pass: where nothing goes on meanwhile, it is not waited for again. */
    synchronized void wasLate() {
        if (endsWhenLate) {
            LOG.warn("scheduler '{}': program stopped: late response", name);
            end(process);
        }
    }

    /** Where it listens, once it does; starts it. Throws {@link Scheduler.FailedException} if it does not, or has ended. */
    synchronized URI start() {
        if (process == null) {
            begin();
        }
        if (address == null) {
            throw new Scheduler.FailedException("program '" + name + "': not started");
        }
        if (!process.isAlive()) {
            throw new Scheduler.FailedException("program '" + name + "': exited with status " + process.exitValue());
        }
        return address;
    }

    private void begin() {
        try {
            process = new ProcessBuilder(command).directory(directory.map(Path::toFile).orElse(null)).start();
        } catch (IOException e) {
            throw new Scheduler.FailedException("program '" + name + "': start failed: " + e.getMessage());
        }
        CompletableFuture<Integer> port = new CompletableFuture<>();
        follow("output", process.getInputStream(), lines -> port.complete(port(line(lines))), port::completeExceptionally);
        follow("errors", process.getErrorStream(), lines -> { }, error -> { });
        try {
            address = at(port.get(START_LIMIT.toMillis(), TimeUnit.MILLISECONDS));
            LOG.info("scheduler '{}': process {} listening at {}", name, process.pid(), address);
        } catch (ExecutionException e) {
            end(process);
            throw new Scheduler.FailedException(e.getCause().getMessage());
        } catch (TimeoutException e) {
            end(process);
            throw new Scheduler.FailedException(
                    "program '" + name + "': no port printed within " + START_LIMIT.toSeconds() + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Scheduler.FailedException("program '" + name + "': interrupted during start");
        }
    }

    /** What comes first in a stream. */
    private interface Beginning {
        void read(BufferedReader lines) throws IOException;
    }

    /** Reads a stream to its end, so that the program never waits for us; what comes after the beginning is for the log. */
    private void follow(String stream, InputStream from, Beginning beginning, Consumer<Exception> failed) {
        Thread thread = new Thread(() -> {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(from, StandardCharsets.UTF_8))) {
                try {
                    beginning.read(lines);
                } catch (IllegalArgumentException e) {
                    failed.accept(e);
                }
                log(lines);
            } catch (IOException e) {
                failed.accept(e);
            }
        }, "scheduler " + name + ": " + stream);
        thread.setDaemon(true);
        thread.start();
    }

    /** Lines that come together are one message, those after the first one indented. */
    private void log(BufferedReader lines) throws IOException {
        int count = 0;
        String line = line(lines);
        while (line != null && count < MAX_LINES) {
            List<String> message = new ArrayList<>(List.of(line));
            while (count + message.size() < MAX_LINES && hasMore(lines)) {
                message.add(line(lines));
            }
            count += message.size();
            LOG.info("scheduler '{}': {}", name, String.join(MARGIN, message));
            line = line(lines);
        }
        if (line != null) {
            LOG.warn("scheduler '{}': output limited to {} lines: further lines dropped", name, MAX_LINES);
            while (lines.read() >= 0) {
                // To its end, so that the program never waits.
            }
        }
    }

    private static boolean hasMore(BufferedReader lines) throws IOException {
        if (!lines.ready()) {
            try {
                Thread.sleep(PAUSE_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return lines.ready();
    }

    /** One line, cut where it is too long; null at the end. */
    private static String line(BufferedReader reader) throws IOException {
        StringBuilder line = new StringBuilder();
        int next = reader.read();
        if (next < 0) {
            return null;
        }
        while (next >= 0 && next != '\n') {
            if (line.length() < MAX_LINE) {
                line.append(Character.isISOControl(next) ? ' ' : (char) next);
            }
            next = reader.read();
        }
        return line.toString().stripTrailing();
    }

    private int port(String first) {
        String line = first == null ? null : first.strip();
        if (line == null || !line.matches("[1-9][0-9]{0,4}") || Integer.parseInt(line) > MAX_PORT) {
            throw new IllegalArgumentException("program '" + name + "': expected its port in the first line, got "
                    + (line == null ? "nothing" : "'" + line + "'"));
        }
        return Integer.parseInt(line);
    }

    @Override
    public synchronized void close() {
        if (process != null) {
            end(process);
        }
    }

    /** Closes what it reads, which is to end it, and after a while ends it with all that it has started, then or meanwhile. */
    private static void end(Process process) {
        Set<ProcessHandle> children = process.descendants().collect(Collectors.toSet());
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            LOG.debug("input already closed", e);
        }
        try {
            process.waitFor(END_LIMIT_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.descendants().forEach(children::add);
        process.destroyForcibly();
        children.forEach(ProcessHandle::destroyForcibly);
    }
}

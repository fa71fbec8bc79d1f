// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.standalone.Jars;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.SchedulerSettings;
import org.slotwise.systems.star.schedule.Schedulers;

/** Schedulers of one's own: the examples for users, and programs that misbehave. */
class CustomSchedulersTest {
    private static final long TIMEOUT_S = 60;
    private static final Path EXAMPLES = Path.of("../../topologies/examples/schedulers").toAbsolutePath();
    /** A program that answers every question alike, and leaves its process id in a file. */
    private static final String PROGRAM = """
            import os, sys, threading
            open('PID', 'w').write(str(os.getpid()))
            from http.server import BaseHTTPRequestHandler, HTTPServer
            class Handler(BaseHTTPRequestHandler):
                def do_POST(self):
                    ANSWER
                def say(self, text, status=200):
                    self.send_response(status)
                    self.end_headers()
                    self.wfile.write(text.encode())
                def log_message(self, *args):
                    pass
            server = HTTPServer(("127.0.0.1", 0), Handler)
            print(server.server_port, flush=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            sys.stdin.read()
            """;

    @TempDir
    private Path directory;
    private CustomSchedulers own = CustomSchedulers.none();

    @AfterEach
    void end() {
        own.close();
    }

    private Scheduler scheduler(String name, ObjectNode entry) throws Exception {
        return scheduler(name, entry, true, Map.of());
    }

    private Scheduler scheduler(String name, ObjectNode entry, boolean waits, Map<String, String> settings) throws Exception {
        ObjectNode section = JsonNodeFactory.instance.objectNode();
        section.set(name, entry);
        own = CustomSchedulers.read("schedulers", section, waits);
        own.prepare();
        SchedulerKind kind = own.all().named(name);
        return kind.create(kind.completeSettings(settings));
    }

    private static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    private static ObjectNode command(String... words) {
        ObjectNode entry = object();
        List.of(words).forEach(entry.withArray("command")::add);
        return entry;
    }

    private ObjectNode program(String answer) throws IOException {
        Path file = directory.resolve("program.py");
        Files.writeString(file, PROGRAM.replace("ANSWER", answer).replace("PID", directory.resolve("pid").toString()));
        return command("python3", file.toString());
    }

    /** Compiles a class as docs/write-your-own.md says, and names it as a provider. */
    private ObjectNode jar(Path source, String provider) throws IOException {
        return object().put("jar", Jars.of(directory, source, provider).toString());
    }

    private static void checkGreedy(Scheduler greedy) {
        int[][] demand = {{0, 3, 1}, {0, 0, 2}, {9, 0, 0}};
        int[][] service = greedy.schedule(demand, FrameSchedule.empty(3, 4)).service();
        assertEquals(4, service[2][0], "a frame has four slots");
        assertEquals(3, service[0][1]);
        assertEquals(2, service[1][2]);
        assertEquals(1, service[0][2]);
        assertEquals(FrameSchedule.empty(4, 8), greedy.schedule(new int[4][4], FrameSchedule.empty(4, 8)));
    }

    @Test
    void theExampleInJavaServesWhoWantsMostFirst() throws Exception {
        Scheduler greedy = scheduler("greedy", jar(EXAMPLES.resolve("GreedyScheduler.java"), "GreedyScheduler"));
        checkGreedy(greedy);
        assertFalse(own.all().named("greedy").runsElsewhere());
    }

    @Test
    void theExampleInPythonDoesTheSameInAtMost25Lines() throws Exception {
        Path file = EXAMPLES.resolve("greedy.py");
        checkGreedy(scheduler("mine", command("python3", file.toString())));
        // Blank lines are the formatter's.
        assertTrue(Files.readAllLines(file).stream().filter(line -> !line.isBlank()).count() <= 25);
    }

    @Test
    void oursAreStillThere() throws Exception {
        own = CustomSchedulers.read("schedulers", new ObjectMapper().createObjectNode(), true);
        assertEquals("fair", own.all().all().get(0).title());
        assertEquals(6, own.all().all().size());
    }

    @Test
    void aProgramGetsItsSettings() throws Exception {
        ObjectNode entry = program("asked = __import__('json').loads(self.rfile.read(int(self.headers['Content-Length'])));"
                + "self.say('{\"version\": 1, \"schedule\": [[' + asked['settings']['to'] + ', -1]]}')");
        entry.putObject("settings").put("to", -1);
        Scheduler scheduler = scheduler("mine", entry, true, Map.of("to", "1"));
        assertEquals(1, scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)).output(0, 0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"self.say('')", "self.say('no')", "self.say('{}')", "self.say('{\"version\": 2, \"schedule\": [[-1, -1]]}')",
            "self.say('{\"version\": 1, \"schedule\": []}')", "self.say('{\"version\": 1, \"schedule\": [[-1]]}')",
            "self.say('{\"version\": 1, \"schedule\": [[0, -1]]}')", "self.say('{\"version\": 1, \"schedule\": [[2, -1]]}')",
            "self.say('{\"version\": 1, \"schedule\": [[1.0, -1]]}')", "self.say('{\"version\": 1, \"schedule\": [[-2, -1]]}')",
            "self.say('{\"version\": 1, \"schedule\": [[-1, -1]], \"more\": 1}')", "self.say('', 500)", "self.connection.close()",
            "__import__('os')._exit(3)", "self.say(' ' * 10_000_000)", "self.say('[' * 4000)", "self.wfile.write(b'no HTTP at all')"})
    void whatIsNoScheduleIsAFailure(String answer) throws Exception {
        Scheduler scheduler = scheduler("mine", program(answer));
        FrameSchedule current = FrameSchedule.empty(2, 1);
        Scheduler.FailedException failure =
                assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], current));
        assertTrue(failure.getMessage().startsWith("program 'mine': "), failure.getMessage());
    }

    @Test
    void twoSendersToOneReceiverAreRefusedWithThePlace() throws Exception {
        Scheduler scheduler = scheduler("mine", program("self.say('{\"version\": 1, \"schedule\": [[2, 2, -1]]}')"));
        assertEquals("program 'mine': invalid schedule: schedule[0][1]: edge 1 cannot send to edge 2, which receives from"
                + " another edge in this slot", assertThrows(Scheduler.FailedException.class,
                () -> scheduler.schedule(new int[3][3], FrameSchedule.empty(3, 1))).getMessage());
    }

    @Test
    void aProgramThatDoesNotAnswerIsGivenUpAfterItsTimeAndLeftAloneForLonger() throws Exception {
        Scheduler scheduler = scheduler("mine", program("__import__('time').sleep(1000)").put("limit_ms", 1), false, Map.of());
        int asked = 0;
        for (int frame = 0; frame < 15; frame++) {
            String message = assertThrows(Scheduler.FailedException.class,
                    () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1))).getMessage();
            asked += message.equals("program 'mine': no response within 1 ms") ? 1 : 0;
        }
        assertEquals(4, asked, "after 1, 2 and 4 frames");
    }

    /** A provider of a program. */
    private ProcessProvider provider(String answer, boolean endsWhenLate, Duration limit) throws IOException {
        List<String> words = new ArrayList<>();
        program(answer).get("command").forEach(word -> words.add(word.asText()));
        return new ProcessProvider("mine", words, Optional.empty(), Map.of(), limit, endsWhenLate);
    }

    private static Scheduler made(ProcessProvider provider) throws InvalidSettingsException {
        SchedulerKind kind = Schedulers.ours().with(List.of(provider)).named("mine");
        return kind.create(kind.completeSettings(Map.of()));
    }

    /** The program that was begun last; empty if it has ended. */
    private Optional<ProcessHandle> begun() throws IOException {
        return ProcessHandle.of(Long.parseLong(Files.readString(directory.resolve("pid"))));
    }

    private void awaitEnd() throws Exception {
        if (begun().isPresent()) {
            begun().get().onExit().get(TIMEOUT_S, TimeUnit.SECONDS);
        }
    }

    @Test
    void anAnswerThatDripsIsGivenUpWithItsConnection() throws Exception {
        // Writing to a closed connection fails, which ends this program.
        String drip = "self.say('')\n        while True:\n            try:\n                self.wfile.write(b' '); __import__('time').sleep(0.01)\n"
                + "            except OSError:\n                __import__('os')._exit(7)";
        try (ProcessProvider provider = provider(drip, false, Duration.ofSeconds(5))) {
            Scheduler scheduler = made(provider);
            String message = assertThrows(Scheduler.FailedException.class,
                    () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1))).getMessage();
            assertEquals("program 'mine': no response within 5000 ms", message);
            awaitEnd();
        }
    }

    @Test
    void aProgramIsSentQuestionsAndNothingElse() throws Exception {
        Path others = directory.resolve("others");
        try (ProcessProvider provider = provider("self.say('{\"version\": 1, \"schedule\": [[-1, -1]]}')\n"
                + "    def send_error(self, *args):\n        open('" + others + "', 'a').write(self.requestline)", false, Duration.ofSeconds(TIMEOUT_S))) {
            provider.prepare();
            assertEquals(FrameSchedule.empty(2, 1), made(provider).schedule(new int[2][2], FrameSchedule.empty(2, 1)));
            assertFalse(Files.exists(others));
        }
    }

    @Test
    void aProgramIsShownByItsNameWithoutItsArguments() throws Exception {
        own = CustomSchedulers.read("schedulers", object().set("mine", command("/opt/solver", "--license", "SECRET")), true);
        assertEquals("Program solver", own.all().named("mine").description());
    }

    @Test
    void linesThatAProgramWritesTogetherAreOneMessage() throws Exception {
        BlockingQueue<String> messages = new LinkedBlockingQueue<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                messages.add(event.getFormattedMessage());
            }
        };
        appender.start();
        Logger log = (Logger) LoggerFactory.getLogger(ProcessProvider.class);
        log.addAppender(appender);
        log.setLevel(Level.INFO);
        try (ProcessProvider provider = provider("import traceback\n        try:\n            1 / 0\n        except ZeroDivisionError:\n"
                + "            sys.stderr.write(traceback.format_exc())\n        self.say('', 500)", false, Duration.ofSeconds(TIMEOUT_S))) {
            Scheduler scheduler = made(provider);
            assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
            assertTrue(messages.poll(TIMEOUT_S, TimeUnit.SECONDS).contains("listening at"));
            List<String> lines = messages.poll(TIMEOUT_S, TimeUnit.SECONDS).lines().toList();
            assertEquals("scheduler 'mine': Traceback (most recent call last):", lines.get(0));
            assertEquals("    ZeroDivisionError: division by zero", lines.get(lines.size() - 1));
        } finally {
            log.setLevel(null);
            log.detachAppender(appender);
        }
    }

    @Test
    void aProgramThatIsLeftAloneSaysWhyItFailedBefore() throws Exception {
        Scheduler scheduler = scheduler("mine", program("self.say('', 500)"));
        for (String reason : List.of("program 'mine': response status 500",
                "scheduler 'mine' failed recently, backing off: program 'mine': response status 500")) {
            assertEquals(reason, assertThrows(Scheduler.FailedException.class,
                    () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1))).getMessage());
        }
    }

    /** A class that does what a test says. */
    private record Jarred(Scheduler scheduler) implements SchedulerProvider {
        @Override
        public String name() {
            return "mine";
        }

        @Override
        public String description() {
            return "Of a jar.";
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return scheduler;
        }
    }

    private static Scheduler ofJar(Scheduler scheduler, Duration limit) throws InvalidSettingsException {
        SchedulerKind kind = Schedulers.ours().with(List.of(new JarProvider(new Jarred(scheduler), limit))).named("mine");
        return kind.create(kind.completeSettings(Map.of()));
    }

    @Test
    void aClassThatDoesNotReturnIsWaitedForOnceAndAskedAgainWhenItHas() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        Scheduler scheduler = ofJar((demand, current) -> {
            asked.incrementAndGet();
            try {
                held.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return current;
        }, Duration.ofSeconds(1));
        FrameSchedule current = FrameSchedule.empty(2, 1);
        for (String reason : List.of("scheduler class: no return within 1000 ms", "scheduler class: still busy with an earlier call")) {
            assertEquals(reason, assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], current)).getMessage());
        }
        assertEquals(1, asked.get());
        held.countDown();
        assertTimeoutPreemptively(Duration.ofSeconds(TIMEOUT_S), () -> {
            while (true) {
                try {
                    assertEquals(current, scheduler.schedule(new int[2][2], current));
                    return;
                } catch (Scheduler.FailedException notYet) {
                    Thread.onSpinWait();
                }
            }
        });
    }

    @Test
    void whatAClassThrowsIsThrownAsItIs() throws Exception {
        Scheduler scheduler = ofJar((demand, current) -> {
            if (demand.length == 2) {
                throw new Scheduler.FailedException("no idea");
            }
            throw new AssertionError("a defect");
        }, Duration.ofSeconds(TIMEOUT_S));
        assertEquals("no idea", assertThrows(Scheduler.FailedException.class,
                () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1))).getMessage());
        assertEquals("a defect", assertThrows(AssertionError.class,
                () -> scheduler.schedule(new int[3][3], FrameSchedule.empty(3, 1))).getMessage());
        assertThrows(NullPointerException.class, () -> ofJar(null, Duration.ofSeconds(TIMEOUT_S)), "the provider returned no scheduler");
    }

    @Test
    void whereTimeStandsStillALateProgramIsEnded() throws Exception {
        try (ProcessProvider provider = provider("__import__('time').sleep(1000)", true, Duration.ofSeconds(1))) {
            Scheduler scheduler = made(provider);
            assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
            awaitEnd();
            assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
            assertTrue(assertThrows(Scheduler.FailedException.class,
                    () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1))).getMessage().contains("exited"));
        }
    }

    @Test
    void whatAProgramSaysHoldsUpNobody() throws Exception {
        Scheduler scheduler = scheduler("mine", program("sys.stderr.write('x' * 1_000_000); print('y' * 1_000_000, flush=True);"
                + " self.say('{\"version\": 1, \"schedule\": [[-1, -1]]}')"));
        assertEquals(FrameSchedule.empty(2, 1), scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
    }

    @Test
    void aProgramEndsWithWhatItHasStarted() throws Exception {
        ObjectNode program = program("self.say('no')");
        Scheduler scheduler = scheduler("mine", command("sh", "-c", "python3 " + program.get("command").get(1).asText() + "; true"));
        assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
        ProcessHandle process = begun().orElseThrow();
        own.close();
        process.onExit().get(TIMEOUT_S, TimeUnit.SECONDS);
    }

    @Test
    void aProgramThatDoesNotBeginIsAFailure() throws Exception {
        FrameSchedule current = FrameSchedule.empty(2, 1);
        for (ObjectNode entry : List.of(command("/nonexistent"), command("true"), command("echo", "hello"), command("echo", "99999"))) {
            Scheduler scheduler = scheduler("mine", entry);
            assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], current));
            own.close();
        }
    }

    @Test
    void aProgramEndsWithTheController() throws Exception {
        Scheduler scheduler = scheduler("mine", program("self.say('{\"version\": 1, \"schedule\": [[-1, -1]]}')"));
        scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1));
        ProcessHandle process = begun().orElseThrow();
        own.close();
        process.onExit().get(TIMEOUT_S, TimeUnit.SECONDS);
        assertFalse(process.isAlive());
    }

    /** It goes on for longer than it is waited for, and begins something then. */
    @Test
    void aProgramThatIsToEndHasItsTimeAndLeavesNothing() throws Exception {
        Path signal = directory.resolve("signal");
        Path child = directory.resolve("child");
        ObjectNode entry = program("self.say('no')");
        Path file = Path.of(entry.get("command").get(1).asText());
        Files.writeString(file, """
                import signal, subprocess, time
                signal.signal(signal.SIGTERM, lambda *_: open('SIGNAL', 'w').close())
                """.replace("SIGNAL", signal.toString()) + Files.readString(file) + """
                begun = subprocess.Popen(['sleep', '1000'])
                open('CHILD', 'w').write(str(begun.pid))
                while True:
                    time.sleep(1)
                """.replace("CHILD", child.toString()));
        Scheduler scheduler = scheduler("mine", entry);
        assertThrows(Scheduler.FailedException.class, () -> scheduler.schedule(new int[2][2], FrameSchedule.empty(2, 1)));
        ProcessHandle process = begun().orElseThrow();
        own.close();
        process.onExit().get(TIMEOUT_S, TimeUnit.SECONDS);
        assertFalse(Files.exists(signal), "it was ended before its time");
        if (Files.exists(child) && Files.size(child) > 0) {
            Optional<ProcessHandle> left = ProcessHandle.of(Long.parseLong(Files.readString(child)));
            if (left.isPresent()) {
                left.get().onExit().get(TIMEOUT_S, TimeUnit.SECONDS);
            }
        }
    }

    private String refusal(String section) throws IOException {
        JsonNode value = new ObjectMapper().readTree(section);
        return assertThrows(InvalidJsonException.class, () -> CustomSchedulers.read("schedulers", value, false)).getMessage();
    }

    @Test
    void wrongSectionsAreRefusedWithThePlace() throws IOException {
        assertEquals("schedulers.a: expected either 'jar' or 'command'", refusal("{\"a\": {}}"));
        assertEquals("schedulers.a.jar: no such file: /nonexistent.jar", refusal("{\"a\": {\"jar\": \"/nonexistent.jar\"}}"));
        assertEquals("schedulers.a.command: expected 1 .. 256 strings, got 0", refusal("{\"a\": {\"command\": []}}"));
        assertEquals("schedulers.a.limit_ms: expected an integer 1 .. 60000, got 0",
                refusal("{\"a\": {\"command\": [\"x\"], \"limit_ms\": 0}}"));
        assertEquals("schedulers: duplicate scheduler 'fair'", refusal("{\"fair\": {\"command\": [\"x\"]}}"));
        assertTrue(refusal("{\"A b\": {\"command\": [\"x\"]}}").startsWith("schedulers: invalid scheduler name 'A b'"));
        assertTrue(refusal("{\"a\": {\"comand\": [\"x\"]}}").contains("did you mean 'command'?"));
    }

    @Test
    void aJarWithoutThatSchedulerIsRefusedWithWhatItHas() throws Exception {
        ObjectNode entry = jar(EXAMPLES.resolve("GreedyScheduler.java"), "GreedyScheduler");
        assertTrue(refusal("{\"other\": " + entry + "}").endsWith("unknown scheduler 'other'; expected one of greedy"));
        ObjectNode broken = jar(EXAMPLES.resolve("GreedyScheduler.java"), "NoSuchClass");
        assertTrue(refusal("{\"greedy\": " + broken + "}").contains("NoSuchClass"));
    }
}

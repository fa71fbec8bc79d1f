// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Event;
import org.slotwise.control.RecordingApp;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.wire.WireConstants;
import p4.v1.P4RuntimeOuterClass.StreamMessageResponse;

/** By this machine's clock. */
class DriverTest extends DriverTestBase {
    /** The handshake is refused within a few ms; the driver tries again after 100. */
    private static final long REFUSED_MS = 300;
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Duration LONG = Duration.ofSeconds(60);
    /** Packets of 1000 bytes; far more than any buffer should hold. */
    private static final int MANY = 20_000;

    @Test
    void programsAndRulesReachAllSwitches() throws Exception {
        configured(WallClockDriver::new, 1);
        List<String> log = new ArrayList<>(switches.log);
        assertEquals(5, log.stream().filter(entry -> entry.startsWith("program")).count());
        assertEquals(List.of("write 1001", "write 1"),
                log.stream().filter(entry -> entry.startsWith("write")).limit(2).toList());
        assertEquals(2 * 6, switches.entries(CORE));
        // Routes to 4 hosts, 3 queues, 1 request, and a signaling slot in each bank.
        assertEquals(4 + 3 + 1 + 2, switches.entries(3));
    }

    @Test
    void requestsBecomeTablesAndACommit() throws Exception {
        configured(WallClockDriver::new, 1);
        for (int frame = 1; frame <= 5; frame++) {
            sendRequests(frame, 0);
        }
        assertEquals(1, committedVersion(FakeP4Runtime.await(switches.packetOuts)));
        assertEquals(2 * 6 + 4 * 16, switches.entries(CORE));
    }

    @Test
    void takeoverSendsNoProgramAndReadsWhatIsThere() throws Exception {
        configured(WallClockDriver::new, 1);
        for (int frame = 1; frame <= 5; frame++) {
            sendRequests(frame, 0);
        }
        FakeP4Runtime.await(switches.packetOuts);
        drivers.remove(0).close();
        switches.log.clear();

        configured(WallClockDriver::new, 2);
        assertFalse(switches.log.stream().anyMatch(entry -> entry.startsWith("program")));
        assertEquals(2 * 6 + 4 * 16, switches.entries(CORE));
        for (int frame = 6; frame <= 11; frame++) {
            sendRequests(frame, 1);
        }
        switches.sendPacket(MASTER, WireConstants.PORT_OPTICAL_BASE,
                new RequestMessage(1).frame(12).versions(1, 1).backlog(2, 400_000).encode());
        for (int edge : new int[] {0, 2, 3}) {
            int port = edge == 0 ? WireConstants.PORT_LINECARD : WireConstants.PORT_OPTICAL_BASE;
            switches.sendPacket(MASTER, port, new RequestMessage(edge).frame(12).versions(1, 1).encode());
        }
        assertEquals(2, committedVersion(FakeP4Runtime.await(switches.packetOuts)));
    }

    @Test
    void lostStreamIsOpenedAgainAndTheSwitchConfigured() throws Exception {
        configured(WallClockDriver::new, 1);
        switches.log.clear();
        switches.closeStream(3);
        switches.awaitLog("write 3");
    }

    @Test
    void lowerElectionIdDoesNotDisturbThePrimary() throws Exception {
        configured(WallClockDriver::new, 7);
        switches.log.clear();
        Driver second = start(WallClockDriver::new, 6);
        switches.awaitLog("gone 1");
        assertFalse(second.configured().isDone());
        assertFalse(switches.log.stream().anyMatch(entry -> entry.startsWith("write")));
    }

    @Test
    void refusedWriteIsTriedAgain() throws Exception {
        switches.refuseWrites(true);
        Driver driver = start(WallClockDriver::new, 1);
        switches.awaitLog("refused 1001");
        switches.refuseWrites(false);
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
    }

    @Test
    void garbageFromASwitchIsCountedAndSurvived() throws Exception {
        Driver driver = configured(WallClockDriver::new, 1);
        switches.sendPacket(MASTER, 3, new byte[] {1, 2, 3});
        switches.sendOtherToAll(Any.newBuilder().setTypeUrl("type.googleapis.com/no.such.Message").build());
        for (int frame = 1; frame <= 5; frame++) {
            sendRequests(frame, 0);
        }
        FakeP4Runtime.await(switches.packetOuts);
        Snapshot snapshot = driver.view(star, TIMEOUT_S * 1000);
        assertEquals(1, snapshot.statistics().refusals().values().stream().mapToLong(Long::longValue).sum());
    }

    // ---- the order of reads and writes ----

    @Test
    void aSwitchOfSeveralStarsHasOneBatchInFlightAndIsReadBetweenBatches() throws Exception {
        switches.close();
        switches = new FakeP4Runtime(1, 2, 3, 4, CORE, 1002);
        network = Networks.overlaid(4, 20, 2);
        LongStream.of(1, 2, 3, 4, CORE, 1002).forEach(switches::hold);
        Driver driver = start(WallClockDriver::new, 1);
        driver.configured().thenRun(() -> switches.log.add("configured"));
        while (!FakeP4Runtime.await(switches.log).equals("configured")) {
            LongStream.of(1, 2, 3, 4, CORE, 1002).forEach(device -> {
                switches.release(device);
                switches.hold(device);
            });
        }
        assertEquals(List.of(), switches.overtaking);
    }

    // ---- switches that are slow, silent or gone ----

    @Test
    void aSwitchThatDoesNotAnswerStopsNoOther() throws Exception {
        switches.hold(3);
        start(WallClockDriver::new, 1);
        switches.awaitLog("write 1001");
        switches.awaitLog("program 4");
        List<FakeP4Runtime.Held> held = switches.held(3);
        assertEquals(List.of("program? 3"), held.stream().map(FakeP4Runtime.Held::what).toList());
        assertFalse(held.get(0).caller().isCancelled(), "the others had to wait until it was given up");
        switches.release(3);
        switches.awaitLog("write 3");
    }

    @Test
    void aSwitchThatDoesNotSayWhoIsPrimaryIsCalledAgain() throws Exception {
        patience = new Patience(SHORT, LONG, LONG, SHORT);
        switches.silence(3, true);
        Driver driver = start(WallClockDriver::new, 1);
        switches.awaitLog("silent 3");
        switches.awaitLog("gone 3");
        switches.silence(3, false);
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
    }

    @Test
    void aWriteWithoutAnAnswerIsFencedOffBeforeTheSwitchIsReadAgain() throws Exception {
        configured(WallClockDriver::new, 7);
        patience = new Patience(LONG, SHORT, LONG, LONG);
        drivers.remove(0).close();
        switches.awaitLog("gone 1");
        switches.hold(1);
        Driver driver = start(WallClockDriver::new, 8);
        switches.awaitLog("held program? 1");
        switches.release(1);
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
        switches.hold(MASTER);
        for (int frame = 1; frame <= 5; frame++) {
            sendRequests(frame, 0);
        }
        switches.awaitLog("held write 1");
        switches.awaitLog("primary 1");
        assertEquals(BigInteger.valueOf(9), switches.highest(MASTER));
        switches.log.clear();
        switches.release(MASTER);
        switches.awaitLog("refused 1");
    }

    @Test
    void aProgramWithoutAnAnswerIsFencedOffToo() throws Exception {
        switches.silenceToPrograms(3, true);
        Driver driver = start(WallClockDriver::new, 7);
        switches.awaitLog("unanswered program 3");
        switches.silenceToPrograms(3, false);
        switches.closeStream(3);
        switches.awaitLog("primary 3");
        assertEquals(BigInteger.valueOf(8), switches.highest(3));
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
        assertEquals(BigInteger.valueOf(7), switches.highest(MASTER));
    }

    @Test
    void aReadEndsWithItsStreamAndTheNextOneBegins() throws Exception {
        patience = new Patience(LONG, LONG, LONG, LONG);
        switches.hold(3);
        Driver driver = start(WallClockDriver::new, 7);
        switches.awaitLog("held program? 3");
        switches.closeStream(3);
        switches.awaitLog("held program? 3");
        assertTrue(switches.held(3).get(0).caller().isCancelled());
        switches.release(3);
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
    }

    @Test
    void aSwitchThatIsNotThereAnyMoreIsNoticedThoughNothingIsSentToIt() throws Exception {
        patience = new Patience(LONG, LONG, LONG, SHORT);
        try (FrozenPath path = new FrozenPath(switches.address())) {
            servers = new ServerAddresses(switches.address(), Map.of(DeviceId.of(3), path.address()));
            configured(WallClockDriver::new, 1);
            FakeP4Runtime.await(path.connections);
            path.freeze();
            FakeP4Runtime.await(path.connections);
        }
    }

    @Test
    void aSwitchThatTakesNoPacketsDoesNotFillTheMemory() throws Exception {
        try (FrozenPath path = new FrozenPath(switches.address())) {
            ManagedChannel channel = NettyChannelBuilder.forTarget(path.address()).usePlaintext().build();
            ExecutorService thread = Executors.newSingleThreadExecutor();
            CompletableFuture<DeviceSession> primary = new CompletableFuture<>();
            DeviceSession session = new DeviceSession(DeviceId.of(3), Programs.edge(), ElectionId.of(1), patience,
                    Long.MAX_VALUE, channel, channel, new WriteWindow(), thread, new PrimaryOnly(primary));
            thread.execute(session::connect);
            primary.get(TIMEOUT_S, TimeUnit.SECONDS);
            path.freeze();
            byte[] frame = new byte[1000];
            int sent = thread.submit(() -> {
                int accepted = 0;
                while (accepted < MANY && session.sendPacket(1, frame)) {
                    accepted++;
                }
                return accepted;
            }).get(TIMEOUT_S, TimeUnit.SECONDS);
            assertTrue(sent < MANY, "all of it was kept");
            thread.submit(session::close).get(TIMEOUT_S, TimeUnit.SECONDS);
            channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
            thread.shutdownNow();
        }
    }

    private record PrimaryOnly(CompletableFuture<DeviceSession> primary) implements DeviceSession.Listener {
        @Override
        public void onPrimary(DeviceSession session) {
            primary.complete(session);
        }

        @Override
        public void onLost(DeviceSession session, String reason) {
            primary.completeExceptionally(new IllegalStateException(reason));
        }

        @Override
        public void onPacketIn(DeviceSession session, int port, byte[] frame) {
            throw new AssertionError("nobody sends packets");
        }

        @Override
        public void onOther(DeviceSession session, Any message) {
            throw new AssertionError("nobody sends messages");
        }
    }

    // ---- another controller ----

    private void stranger(BigInteger electionId) throws Exception {
        Driver driver = configured(WallClockDriver::new, 7);
        StreamObserver<StreamMessageResponse> stranger = new Unheard();
        switches.join(MASTER, electionId, stranger);
        switches.awaitLog("gone 1");
        assertEquals(electionId, switches.highest(MASTER), "a primary was disturbed");
        switches.log.clear();
        switches.leave(MASTER, stranger);
        switches.awaitLog("primary 1");
        drivers.remove(driver);
        driver.close();
    }

    @Test
    void afterAStrangerWithAHigherElectionIdHasLeftTheControllerIsPrimaryAgain() throws Exception {
        stranger(BigInteger.valueOf(1_000));
        assertEquals(BigInteger.valueOf(1_001), switches.highest(MASTER));
    }

    @Test
    void strangersWithIdsOf128BitsAreFollowedUpToTheHighestThereIs() throws Exception {
        BigInteger wide = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        stranger(wide);
        assertEquals(wide.add(BigInteger.ONE), switches.highest(MASTER));
        stranger(ElectionId.MAX.value());
        assertEquals(ElectionId.MAX.value(), switches.highest(MASTER));
    }

    @Test
    void aStreamThatTheSwitchHasNotMissedDoesNotKeepTheNextOneOut() throws Exception {
        configured(WallClockDriver::new, 7);
        switches.log.clear();
        switches.loseStream(MASTER, new Unheard());
        switches.awaitLog("primary 1");
        assertEquals(BigInteger.valueOf(8), switches.highest(MASTER));
    }

    private static final class Unheard implements StreamObserver<StreamMessageResponse> {
        @Override
        public void onNext(StreamMessageResponse message) {
            // It only wants to be primary.
        }

        @Override
        public void onError(Throwable error) {
            throw new AssertionError(error);
        }

        @Override
        public void onCompleted() {
            throw new AssertionError("nobody ends it");
        }
    }

    // ---- TLS ----

    private static Path pem(String name) {
        return Path.of("src/test/resources/tls", name);
    }

    private static ChannelSecurity tls(String authority, String client) throws IOException {
        return ChannelSecurity.tls(pem(authority + ".pem"), Optional.ofNullable(client).map(name -> pem(name + ".pem")),
                Optional.ofNullable(client).map(name -> pem(name + ".key")), Optional.empty());
    }

    private void switchesWantCertificates() throws Exception {
        switches.close();
        switches = new FakeP4Runtime(GrpcSslContexts.forServer(pem("server.pem").toFile(), pem("server.key").toFile())
                .trustManager(pem("authority.pem").toFile()).clientAuth(ClientAuth.REQUIRE).build(), 1, 2, 3, 4, CORE);
    }

    @Test
    void switchesAreConfiguredOverMutualTls() throws Exception {
        switchesWantCertificates();
        security = tls("authority", "client");
        configured(WallClockDriver::new, 1);
        assertTrue(switches.entries(CORE) > 0);
    }

    @Test
    void nothingIsConfiguredIfACertificateIsMissingOrNotTrusted() throws Exception {
        switchesWantCertificates();
        for (ChannelSecurity bad : List.of(ChannelSecurity.plainText(), tls("authority", null),
                tls("authority", "strange-client"), tls("stranger", "client"))) {
            security = bad;
            Driver driver = start(WallClockDriver::new, 1);
            assertThrows(TimeoutException.class, () -> driver.configured().get(REFUSED_MS, TimeUnit.MILLISECONDS));
            assertEquals(0, switches.entries(CORE));
        }
    }

    @Test
    void everyCallShowsTheTokenIfThereIsOne() throws Exception {
        configured(WallClockDriver::new, 1);
        assertEquals(Set.of("null"), switches.authorizations);
        switches.close();
        switches = new FakeP4Runtime(1, 2, 3, 4, CORE);
        security = ChannelSecurity.plainText().withToken("secret");
        configured(WallClockDriver::new, 1);
        assertEquals(Set.of("Bearer secret"), switches.authorizations);
    }

    @Test
    void fileThatIsNoCertificateIsNamed() {
        assertThrows(IOException.class, () -> tls("make-certificates", null));
        assertThrows(IOException.class, () -> tls("nothing", null));
    }

    @Test
    void programThatLacksATableEndsTheDriver() throws Exception {
        checkLacksATable(WallClockDriver::new);
    }

    @Test
    void aPortWithoutLightIsToldTheApplication() throws Exception {
        RecordingApp app = startRecording(WallClockDriver::new);
        CompletableFuture<Event> told = new CompletableFuture<>();
        app.onNext(event -> {
            told.complete(event);
            return List.of();
        });
        switches.sendOtherToAll(dark(7));
        Event.PortChanged change = (Event.PortChanged) told.get(TIMEOUT_S, TimeUnit.SECONDS);
        assertEquals(7, change.port());
        assertFalse(change.isUp());
    }
}

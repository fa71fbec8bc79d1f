// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.slotwise.control.AppHost;
import org.slotwise.control.RecordingApp;
import org.slotwise.lockstep.PortStatus;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.WireConstants;

/** A driver of each kind, with switches of its own. */
abstract class DriverTestBase {
    static final long MASTER = 1;
    static final long CORE = 1001;
    static final long TIMEOUT_S = 20;

    Network network = Networks.star(4, 20);
    Patience patience = Patience.DEFAULT;
    final List<Driver> drivers = new ArrayList<>();
    StarApp star;
    FakeP4Runtime switches;
    /** Null where one server has all switches. */
    ServerAddresses servers;
    ChannelSecurity security = ChannelSecurity.plainText();

    @BeforeEach
    void startSwitches() throws IOException {
        switches = new FakeP4Runtime(1, 2, 3, 4, CORE);
    }

    @AfterEach
    void stop() throws InterruptedException {
        drivers.forEach(Driver::close);
        switches.close();
    }

    Driver start(Function<Driver.Setup, Driver> kind, long electionId) throws IOException {
        star = StarApp.of(network, Networks.scheduler(Kinds.FAIR), System::nanoTime);
        Driver driver = kind.apply(new Driver.Setup(
                new AppHost(List.of(star)), Map.of("edge", Programs.edge(), "core", Programs.core()),
                servers == null ? ServerAddresses.common(switches.address()) : servers, security, electionId, patience,
                notice -> { }));
        drivers.add(driver);
        driver.start();
        return driver;
    }

    Driver configured(Function<Driver.Setup, Driver> kind, long electionId) throws Exception {
        Driver driver = start(kind, electionId);
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
        return driver;
    }

    void sendRequests(long frame, long version) {
        for (int edge = 0; edge < 4; edge++) {
            int port = edge == 0 ? WireConstants.PORT_LINECARD : WireConstants.PORT_OPTICAL_BASE;
            switches.sendPacket(MASTER, port,
                    new RequestMessage(edge).frame(frame).versions(version, version).encode());
        }
    }

    static long committedVersion(FakeP4Runtime.PacketOutSeen packet) {
        assertEquals(MASTER, packet.device());
        ByteString payload = packet.payload();
        return CommitHeader.decode(payload.toByteArray(), ControlMessage.PAYLOAD)
                .orElseThrow().nextVersion();
    }

    void checkLacksATable(Function<Driver.Setup, Driver> kind) throws Exception {
        AppHost host = new AppHost(List.of(
                StarApp.of(network, Networks.scheduler(Kinds.ROTATION), System::nanoTime)));
        Driver driver = kind.apply(new Driver.Setup(
                host, Map.of("edge", Programs.core(), "core", Programs.edge()), ServerAddresses.common(switches.address()),
                ChannelSecurity.plainText(), 1, patience, notice -> { }));
        drivers.add(driver);
        driver.start();
        ExecutionException failure = assertThrows(ExecutionException.class,
                () -> driver.failure().get(TIMEOUT_S, TimeUnit.SECONDS));
        assertTrue(failure.getCause() instanceof UnknownNameException);
    }

    static Any dark(int port) {
        return Any.pack(PortStatus.newBuilder().setPort(port).setUp(false).build());
    }

    RecordingApp startRecording(Function<Driver.Setup, Driver> kind) throws Exception {
        RecordingApp app = RecordingApp.of("app", 1);
        switches.close();
        switches = new FakeP4Runtime(1);
        Driver driver = kind.apply(new Driver.Setup(new AppHost(List.of(app)), Map.of("program", Programs.edge()),
                ServerAddresses.common(switches.address()), ChannelSecurity.plainText(), 1, patience, notice -> { }));
        drivers.add(driver);
        driver.start();
        driver.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
        return app;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.slotwise.control.RecordingApp;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.lockstep.Advance;
import org.slotwise.lockstep.Done;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.Phase;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.wire.WireConstants;

/** By the fabric's clock. */
class LockstepDriverTest extends DriverTestBase {
    private static final long FRAME_NS = 20 * Networks.SLOT_NS;

    @Test
    void refusedWriteInLockStepEndsTheDriver() throws Exception {
        switches.refuseWrites(true);
        Driver driver = start(LockstepDriver::new, 1);
        ExecutionException failure = assertThrows(ExecutionException.class,
                () -> driver.failure().get(TIMEOUT_S, TimeUnit.SECONDS));
        assertTrue(failure.getCause().getMessage().contains("not reproducible"), failure.getMessage());
    }

    @Test
    void programThatLacksATableEndsTheDriverInLockStep() throws Exception {
        checkLacksATable(LockstepDriver::new);
    }

    @Test
    void inLockStepAPortWithoutLightIsToldInTheNextTurn() throws Exception {
        RecordingApp app = startRecording(LockstepDriver::new);
        assertEquals(0, FakeP4Runtime.await(switches.dones).getSequence());
        switches.sendOtherToAll(dark(7));
        assertEquals(1, drivers.get(drivers.size() - 1).ask(app.events::size, TIMEOUT_S * 1000));
        switches.sendOtherToAll(advance(1, 1000));
        assertEquals(1, FakeP4Runtime.await(switches.dones).getSequence());
        assertEquals(2, drivers.get(drivers.size() - 1).ask(app.events::size, TIMEOUT_S * 1000));
    }

    @Test
    void inLockStepAnOrderBetweenTurnsThatLeadsToMoreIsToldByTheLastDoneAgain() throws Exception {
        RecordingApp app = startRecording(LockstepDriver::new);
        Driver driver = drivers.get(drivers.size() - 1);
        assertEquals(0, FakeP4Runtime.await(switches.dones).getSequence());
        switches.sendOtherToAll(advance(1, 1000));
        assertEquals(1, FakeP4Runtime.await(switches.dones).getSequence());
        driver.submit("app", new RecordingApp.Ask());
        driver.ask(() -> {
            app.onNext(order -> {
                app.deadlineNs = OptionalLong.of(2000);
                return List.of();
            });
            return null;
        }, TIMEOUT_S * 1000);
        driver.submit("app", new RecordingApp.Ask());
        assertEquals(Done.newBuilder().setSequence(1).setNextDeadlineNs(2000).build(), FakeP4Runtime.await(switches.dones));
        switches.sendOtherToAll(advance(2, 1500));
        assertEquals(Done.newBuilder().setSequence(2).setNextDeadlineNs(2000).build(), FakeP4Runtime.await(switches.dones));
    }

    @Test
    void lockStepAnswersEachAdvanceWhenEverythingIsDone() throws Exception {
        Driver driver = configured(LockstepDriver::new, 1);
        Done ready = FakeP4Runtime.await(switches.dones);
        assertEquals(0, ready.getSequence());

        long packetOuts = 0;
        long version = 0;
        for (int frame = 1; frame <= 12; frame++) {
            sendRequests(frame, version);
            switches.sendOtherToAll(advance(frame, frame * FRAME_NS));
            Done done = FakeP4Runtime.await(switches.dones);
            assertEquals(frame, done.getSequence());
            if (done.getPacketOuts() > packetOuts) {
                packetOuts = done.getPacketOuts();
                version = committedVersion(FakeP4Runtime.await(switches.packetOuts));
            }
        }
        assertEquals(1, packetOuts);
        Snapshot snapshot = driver.view(star, TIMEOUT_S * 1000);
        assertEquals(Phase.STEADY, snapshot.phase());
        assertEquals(1, snapshot.version().orElseThrow().value());
    }

    @Test
    void lockStepTellsItsDeadlineWhileRequestsAreMissing() throws Exception {
        configured(LockstepDriver::new, 1);
        FakeP4Runtime.await(switches.dones);
        switches.sendPacket(MASTER, WireConstants.PORT_LINECARD, new RequestMessage(0).frame(1).encode());
        switches.sendOtherToAll(advance(1, 1000));
        Done done = FakeP4Runtime.await(switches.dones);
        assertEquals(1000 + 4 * Networks.SLOT_NS + FRAME_NS / 4, done.getNextDeadlineNs());
        switches.sendOtherToAll(advance(2, done.getNextDeadlineNs()));
        assertEquals(0, FakeP4Runtime.await(switches.dones).getNextDeadlineNs());
    }

    @Test
    void lockStepLosesASwitchAndGetsItBackInTurns() throws Exception {
        Driver driver = configured(LockstepDriver::new, 1);
        FakeP4Runtime.await(switches.dones);
        switches.sendOther(advance(1, 1000, 3), 1, 2, 4, CORE);
        assertEquals(1, FakeP4Runtime.await(switches.dones).getSequence());
        assertFalse(ready(driver).contains(DeviceId.of(3)));
        switches.log.clear();
        switches.closeStream(3);
        switches.awaitLog("primary 3");
        assertFalse(ready(driver).contains(DeviceId.of(3)), "time has not gone on");
        switches.sendOtherToAll(advance(2, 2000));
        assertEquals(2, FakeP4Runtime.await(switches.dones).getSequence());
        assertTrue(ready(driver).contains(DeviceId.of(3)));
    }

    private Set<DeviceId> ready(Driver driver) throws Exception {
        return driver.view(star, TIMEOUT_S * 1000).readyDevices();
    }

    private static Any advance(long sequence, long nowNs, long... absent) {
        Advance.Builder advance = Advance.newBuilder().setSequence(sequence).setNowNs(nowNs);
        LongStream.of(absent).forEach(advance::addAbsentDevices);
        return Any.pack(advance.build());
    }

    @Test
    void thisMachinesTimeIsOfNoAccount() throws Exception {
        Duration none = Duration.ofNanos(1);
        patience = new Patience(none, none, none, none);
        configured(LockstepDriver::new, 1);
    }

    @Test
    void aDriverThatWaitsForAnAnswerIsClosedAllTheSame() throws Exception {
        switches.hold(3);
        Driver driver = start(LockstepDriver::new, 1);
        switches.awaitLog("held program? 3");
        drivers.remove(driver);
        driver.close();
        switches.awaitLog("cancelled program? 3");
        assertFalse(driver.failure().isDone(), "that it was closed is no failure");
    }
}

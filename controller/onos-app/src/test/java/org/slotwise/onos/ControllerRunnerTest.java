// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.slotwise.core.Command;
import org.slotwise.core.Event;
import org.slotwise.core.NetworkController;
import org.slotwise.core.Networks;
import org.slotwise.core.Snapshot;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Network;
import org.slotwise.core.schedule.SchedulerKind;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;
import org.slotwise.onos.flow.Switches;

class ControllerRunnerTest {
    private final Network network = Networks.star(4, 20);
    private final List<RuntimeException> failures = new ArrayList<>();

    /** Where nothing is. */
    private static final class NoSwitches implements Switches {
        @Override
        public boolean isAvailable(DeviceId device) {
            return false;
        }

        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            throw new AssertionError("there is no switch");
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            throw new AssertionError("there is no switch");
        }

        @Override
        public void send(DeviceId device, int port, byte[] frame) {
            throw new AssertionError("there is no switch");
        }
    }

    private final class Events implements ControllerRunner.Listener {
        @Override
        public void onSchedule(Command.ScheduleInForce inForce) {
            throw new AssertionError("there is no schedule");
        }

        @Override
        public void onFailure(RuntimeException defect) {
            failures.add(defect);
        }
    }

    /** Fails at the first event. */
    private final class Defective implements NetworkController {
        private final NetworkController whole =
                NetworkController.of(network, Networks.scheduler(SchedulerKind.FAIR), () -> 0);

        @Override
        public List<Command> onEvent(long nowNs, Event event) {
            throw new ArithmeticException("a defect");
        }

        @Override
        public OptionalLong nextDeadlineNs() {
            return whole.nextDeadlineNs();
        }

        @Override
        public boolean isConfigured() {
            return whole.isConfigured();
        }

        @Override
        public Snapshot snapshot() {
            return whole.snapshot();
        }
    }

    @Test
    void aDefectIsReportedOnceAndNoOldStateIsShownAfterIt() throws Exception {
        ControllerRunner runner = new ControllerRunner(
                new Defective(), network, new NoSwitches(), new ManualThread(), () -> 0, 1000, new Events());
        runner.start();
        runner.snapshot(1000);
        runner.submit(Networks.scheduler(SchedulerKind.ISLIP));
        runner.submit(Networks.scheduler(SchedulerKind.PIM));
        assertEquals(1, failures.size());
        assertThrows(IllegalStateException.class, () -> runner.snapshot(1000));
    }
}

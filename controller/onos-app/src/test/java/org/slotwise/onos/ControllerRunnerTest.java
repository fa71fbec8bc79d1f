// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.ControlLoop;
import org.slotwise.control.Event;
import org.slotwise.control.ManualThread;
import org.slotwise.control.RecordingApp;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.flow.OnosSwitches;

class ControllerRunnerTest {
    private final List<Throwable> failures = new ArrayList<>();
    private final ManualThread thread = new ManualThread();
    private final RecordingApp app = RecordingApp.of("app", 1);

    /** Where nothing is, or ONOS does not know. */
    private static final class NoSwitches implements OnosSwitches {
        private boolean isUnsure;

        @Override
        public boolean isAvailable(DeviceId device) {
            if (isUnsure) {
                throw new IllegalStateException("the cluster does not say");
            }
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

    private final class Events implements ControlLoop.Listener {
        @Override
        public void onNotice(Command.Notice notice) {
            throw new AssertionError("there is nothing to tell");
        }

        @Override
        public void onFailure(Throwable defect) {
            failures.add(defect);
        }
    }

    private ControllerRunner runner(OnosSwitches switches) {
        ControllerRunner runner = new ControllerRunner(
                new AppHost(List.of(app)), switches, thread, () -> 0, 1000, new Events());
        runner.start();
        return runner;
    }

    @Test
    void aDefectIsReportedOnceAndNoOldStateIsShownAfterIt() throws Exception {
        ControllerRunner runner = runner(new NoSwitches());
        runner.view(app, 1000);
        app.onNext(event -> {
            throw new ArithmeticException("a defect");
        });
        runner.submit("app", new RecordingApp.Ask());
        runner.submit("app", new RecordingApp.Ask());
        assertEquals(1, failures.size());
        assertThrows(IllegalStateException.class, () -> runner.view(app, 1000));
    }

    @Test
    void whereOnosDoesNotSayWhetherASwitchIsThereItIsAskedAgain() {
        NoSwitches switches = new NoSwitches();
        switches.isUnsure = true;
        runner(switches);
        switches.isUnsure = false;
        thread.runTimers();
        assertEquals(List.of(), failures);
        assertEquals(List.<Event>of(), app.events);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
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
import org.slotwise.onos.flow.SwitchUnavailableException;

class ControllerRunnerTest {
    private static final DeviceId ONE = DeviceId.of(1);

    private final List<Throwable> failures = new ArrayList<>();
    private final ManualThread thread = new ManualThread();
    private final RecordingApp app = RecordingApp.of("app", 1);

    /** One switch, which is there or not, or of which ONOS does not know. */
    private static final class OneSwitch implements OnosSwitches {
        private final Map<Integer, Boolean> ports = new TreeMap<>();
        private boolean isThere;
        private boolean isUnsure;
        private boolean isUnreadable;
        private int reads;

        @Override
        public boolean isAvailable(DeviceId device) {
            if (isUnsure) {
                throw new IllegalStateException("the cluster does not say");
            }
            return isThere;
        }

        @Override
        public Map<Integer, Boolean> ports(DeviceId device) {
            return new TreeMap<>(ports);
        }

        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            reads++;
            return isUnreadable ? CompletableFuture.failedFuture(new SwitchUnavailableException("not now"))
                    : CompletableFuture.completedFuture(List.of());
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            throw new AssertionError("nobody writes");
        }

        @Override
        public void send(DeviceId device, int port, byte[] frame) {
            throw new AssertionError("nobody sends");
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
        ControllerRunner runner = runner(new OneSwitch());
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
    void packetsThatFindTooManyBeforeThemAreLost() {
        OneSwitch switches = new OneSwitch();
        switches.isThere = true;
        ControllerRunner runner = runner(switches);
        for (int round = 1; round <= 2; round++) {
            app.onNext(event -> {
                for (int packet = 0; packet < ControllerRunner.MOST_WAITING + 100; packet++) {
                    runner.packetIn(ONE, 1, new byte[] {1});
                }
                return List.of();
            });
            runner.submit("app", new RecordingApp.Ask());
            long heard = app.events.stream().filter(event -> event instanceof Event.PacketIn).count();
            assertEquals((long) round * ControllerRunner.MOST_WAITING, heard);
        }
        assertEquals(List.of(), failures);
    }

    @Test
    void whereOnosDoesNotSayWhetherASwitchIsThereItIsAskedAgain() {
        OneSwitch switches = new OneSwitch();
        switches.isUnsure = true;
        runner(switches);
        switches.isUnsure = false;
        thread.runTimers();
        assertEquals(List.of(), failures);
        assertEquals(List.<Event>of(), app.events);
    }

    @Test
    void aReadThatIsTriedAgainAndALookThatIsDoNotVoidEachOther() {
        OneSwitch switches = new OneSwitch();
        switches.isThere = true;
        switches.isUnreadable = true;
        ControllerRunner runner = runner(switches);
        switches.isUnsure = true;
        runner.check(ONE);
        switches.isUnsure = false;
        switches.isUnreadable = false;
        thread.runTimers();
        assertEquals(2, switches.reads);
        assertEquals(List.of("DeviceReady"), heard());
        switches.isThere = false;
        switches.isUnsure = true;
        runner.check(ONE);
        runner.check(ONE);
        switches.isUnsure = false;
        thread.runTimers();
        assertEquals(List.of("DeviceReady", "DeviceLost"), heard());
    }

    private List<String> heard() {
        return app.events.stream().map(event -> event.getClass().getSimpleName()).collect(Collectors.toList());
    }

    private List<String> ports() {
        return app.events.stream().filter(event -> event instanceof Event.PortChanged)
                .map(event -> ((Event.PortChanged) event).port() + (((Event.PortChanged) event).isUp() ? " lit" : " dark"))
                .collect(Collectors.toList());
    }

    @Test
    void portsAreWhatTheyAreWhenTheirTurnComesAndThoseThatGoAreDark() {
        OneSwitch switches = new OneSwitch();
        switches.ports.put(1, true);
        switches.ports.put(2, false);
        ControllerRunner runner = runner(switches);
        assertEquals(List.of("2 dark"), ports());
        thread.execute(() -> {
            runner.check(ONE);
            switches.ports.put(2, true);
        });
        assertEquals(List.of("2 dark", "2 lit"), ports());
        switches.ports.remove(2);
        runner.check(ONE);
        runner.check(ONE);
        switches.ports.put(2, true);
        runner.check(ONE);
        assertEquals(List.of("2 dark", "2 lit", "2 dark", "2 lit"), ports());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

class DeviceWritesTest {
    private static final DeviceId DEVICE = DeviceId.of(1);

    private final List<String> log = new ArrayList<>();
    private final List<CompletableFuture<List<TableEntry>>> reads = new ArrayList<>();
    private final List<CompletableFuture<Void>> batches = new ArrayList<>();
    private final DeviceWrites lines = new DeviceWrites(new Switch(), Runnable::run, new Heard());

    /** Answers when the test says so. */
    private final class Switch implements DeviceWrites.Tables {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            log.add("read");
            reads.add(new CompletableFuture<>());
            return reads.get(reads.size() - 1);
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            log.add("write");
            batches.add(new CompletableFuture<>());
            return batches.get(batches.size() - 1);
        }
    }

    private final class Heard implements DeviceWrites.Listener {
        @Override
        public void onRead(DeviceId device, List<TableEntry> entries) {
            log.add("was read");
        }

        @Override
        public void onReadFailed(DeviceId device, Throwable error) {
            log.add("was not read");
        }

        @Override
        public void onWritten(Command.Write write) {
            log.add("was written");
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            log.add("was not written");
        }
    }

    private void checkLog(String... expected) {
        assertEquals(List.of(expected), log);
    }

    @Test
    void aVoidReadIsNotHeardOfAndTheNextOneWaitsForIt() {
        lines.read(DEVICE);
        lines.lose(DEVICE);
        lines.read(DEVICE);
        checkLog("read");
        reads.get(0).complete(List.of());
        checkLog("read", "read");
        reads.get(1).complete(List.of());
        checkLog("read", "read", "was read");
    }

    @Test
    void aVoidReadThatFailsMakesWayToo() {
        lines.read(DEVICE);
        lines.lose(DEVICE);
        lines.write(new Command.Write(DEVICE, 1, List.of()));
        checkLog("read");
        reads.get(0).completeExceptionally(new IllegalStateException("gone"));
        checkLog("read", "write");
        batches.get(0).complete(null);
        checkLog("read", "write", "was written");
    }

    @Test
    void aReadBeforeALossThatWaitedForABatchIsForgotten() {
        lines.write(new Command.Write(DEVICE, 1, List.of()));
        lines.read(DEVICE);
        lines.lose(DEVICE);
        batches.get(0).completeExceptionally(new IllegalStateException("gone"));
        checkLog("write", "was not written");
    }
}

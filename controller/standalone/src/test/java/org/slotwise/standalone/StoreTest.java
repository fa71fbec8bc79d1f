// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.rest.StarParts;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.schedule.SchedulerKind;

class StoreTest {
    private static final Network STAR = Networks.star(4, 20);
    private static final SchedulerChosen FAIR = Networks.scheduler(Kinds.FAIR);
    private static final SchedulerChosen ISLIP = Networks.scheduler(Kinds.ISLIP);
    private static final SchedulerChosen ROTATION = Networks.scheduler(Kinds.ROTATION);

    @TempDir
    private Path directory;

    @Test
    void storeGivesEverHigherElectionIds() throws IOException {
        Instant now = Instant.ofEpochSecond(1_000_000);
        long first;
        try (Store store = Store.open(directory)) {
            first = store.nextElectionId(now);
            assertEquals(1_000_000, first);
            assertEquals(first + 1, store.nextElectionId(now));
        }
        try (Store store = Store.open(directory)) {
            assertEquals(first + 2, store.nextElectionId(now.minusSeconds(500)));
        }
    }

    private static void keep(Store store, SchedulerChosen chosen, SchedulerChosen configured) throws IOException {
        StarParts.store(store.state("star"), STAR, chosen, configured);
    }

    private static Optional<SchedulerKind> chosen(Store store, SchedulerChosen configured) {
        return StarParts.stored(store.state("star"), STAR, configured).map(SchedulerChosen::kind);
    }

    @Test
    void storedSchedulerGivesWayToANewConfiguration() throws IOException {
        try (Store store = Store.open(directory)) {
            keep(store, ROTATION, FAIR);
        }
        try (Store store = Store.open(directory)) {
            assertEquals(Optional.of(Kinds.ROTATION), chosen(store, FAIR));
            assertEquals(Optional.empty(), chosen(store, ROTATION));
        }
    }

    @Test
    void anApplicationHasItsKeysUnderItsNameAndLeavesThoseOfOthersAndOfTheStoreAlone() throws IOException {
        try (Store store = Store.open(directory)) {
            long id = store.nextElectionId(Instant.EPOCH);
            keep(store, ROTATION, FAIR);
            store.state("app").keep("one", "1");
            store.state("star").keepOnly(Map.of("shutdown_0", "true"));
            assertEquals(Map.of("one", "1"), store.state("app").all());
            assertEquals(id + 1, store.nextElectionId(Instant.EPOCH));
        }
        String text = Files.readString(directory.resolve(Store.FILE));
        assertTrue(text.contains("\"star.shutdown_0\":\"true\"") && !text.contains("scheduler"), text);
    }

    @Test
    void storeThatIsInUseIsRefused() throws IOException {
        try (Store store = Store.open(directory)) {
            store.nextElectionId(Instant.EPOCH);
            assertTrue(assertThrows(IOException.class, () -> Store.open(directory)).getMessage().contains("in use"));
        }
        Store.open(directory).close();
    }

    @Test
    void storeThatWasCutOrChangedAnywhereIsRefusedAndNotReplaced() throws IOException {
        try (Store store = Store.open(directory)) {
            keep(store, ROTATION, FAIR);
            store.state("star").keep("shutdown_1", "true");
        }
        Path file = directory.resolve(Store.FILE);
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length; length++) {
            checkRefused(file, Arrays.copyOf(whole, length));
            byte[] changed = whole.clone();
            changed[length] ^= 1;
            checkRefused(file, changed);
        }
        checkRefused(file, Arrays.copyOf(whole, whole.length + 1));
        checkRefused(file, new byte[(1 << 20) + 1]);
        Files.write(file, whole);
        try (Store store = Store.open(directory)) {
            assertTrue(store.state("star").all().containsKey("shutdown_1"));
            assertEquals(Optional.of(Kinds.ROTATION), chosen(store, FAIR));
        }
    }

    private void checkRefused(Path file, byte[] bytes) throws IOException {
        Files.write(file, bytes);
        String reason = assertThrows(IOException.class, () -> Store.open(directory)).getMessage();
        assertTrue(reason.contains("damaged") && reason.contains("restore a copy, or remove it"), reason);
        assertArrayEquals(bytes, Files.readAllBytes(file));
    }

    /** A directory where the next file would be written stands for a disk that takes nothing. */
    @Test
    void whatCannotBeWrittenChangesNothingAndSaysWhy() throws IOException {
        try (Store store = Store.open(directory)) {
            keep(store, ROTATION, FAIR);
            byte[] before = Files.readAllBytes(directory.resolve(Store.FILE));
            Files.createDirectory(directory.resolve("controller.store.next"));
            for (IOException refusal : new IOException[] {
                    assertThrows(IOException.class, () -> keep(store, FAIR, FAIR)),
                    assertThrows(IOException.class, () -> store.state("star").keep("shutdown_0", "true")),
                    assertThrows(IOException.class, () -> store.nextElectionId(Instant.EPOCH))}) {
                assertTrue(refusal.getMessage().contains(directory.toString()), refusal.getMessage());
            }
            assertEquals(Optional.of(Kinds.ROTATION), chosen(store, FAIR));
            assertFalse(store.state("star").all().containsKey("shutdown_0"));
            assertArrayEquals(before, Files.readAllBytes(directory.resolve(Store.FILE)));
        }
    }

    @Test
    void moreThanCanBeReadAgainIsNotWritten() throws IOException {
        String text = "x".repeat(600_000);
        try (Store store = Store.open(directory)) {
            store.state("app").keep("one", text);
            String refusal = assertThrows(IOException.class, () -> store.state("app").keep("two", text)).getMessage();
            assertTrue(refusal.contains("full; expected at most 1048576 bytes"), refusal);
            assertEquals(Set.of("one"), store.state("app").all().keySet());
        }
        try (Store store = Store.open(directory)) {
            assertEquals(text, store.state("app").all().get("one"));
            store.state("other").keep("three", "3");
            store.state("app").keepOnly(Map.of("two", text));
            assertEquals(Set.of("two"), store.state("app").all().keySet());
            assertEquals(Map.of("three", "3"), store.state("other").all());
        }
    }

    /** A FIFO would be waited for, a device has no end, and what a link leads to may be gone for a while. */
    @Test
    void whatIsNoFileOfItsOwnIsRefusedByName() throws Exception {
        for (String name : List.of(Store.FILE, "controller.lock")) {
            Path file = directory.resolve(name);
            Files.deleteIfExists(file);
            for (String target : List.of("/nowhere", "/dev/zero", directory.resolve("other").toString())) {
                Files.createSymbolicLink(file, Path.of(target));
                assertRefused(file + ": expected a regular file, got a symbolic link", () -> Store.open(directory));
                Files.delete(file);
            }
            fifo(file);
            assertRefused(file + ": expected a regular file, got a FIFO", () -> Store.open(directory));
            Files.delete(file);
            Files.createDirectory(file);
            assertRefused(file + ": expected a regular file, got a directory", () -> Store.open(directory));
            Files.delete(file);
        }
        try (Store store = Store.open(directory)) {
            Path next = directory.resolve("controller.store.next");
            fifo(next);
            assertRefused(next + ": expected a regular file, got a FIFO", () -> keep(store, ROTATION, FAIR));
            Files.delete(next);
            Files.createSymbolicLink(next, directory.resolve("other"));
            assertRefused(next + ": expected a regular file, got a symbolic link", () -> keep(store, ROTATION, FAIR));
        }
        assertFalse(Files.exists(directory.resolve("other")));
        Path audit = directory.resolve("audit.jsonl");
        fifo(audit);
        assertRefused(audit + ": expected a regular file, got a FIFO", () -> new AuditLog(directory, Clock.systemUTC(), AuditLog.MAX_BYTES));
    }

    private static void fifo(Path path) throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", path.toString()).start().waitFor());
    }

    private static void assertRefused(String reason, Executable act) {
        String message = assertThrows(IOException.class, act).getMessage();
        assertTrue(message.contains(reason), message);
    }

    /** What has no end is not read to it, whoever gave its name. */
    @Test
    void filesAreReadUpToALimit() {
        assertRefused("/dev/zero: too large; expected at most 1000 bytes", () -> BoundedFiles.read(Path.of("/dev/zero"), 1000));
        assertRefused("/dev/zero: too large", () -> Configuration.read(Path.of("/dev/zero")));
    }

    @Test
    void whatWasHalfWrittenWhenTheMachineStoppedIsNotRead() throws IOException {
        try (Store store = Store.open(directory)) {
            keep(store, ROTATION, FAIR);
        }
        Files.writeString(directory.resolve("controller.store.next"), "slotwise-store 1 sha");
        try (Store store = Store.open(directory)) {
            assertEquals(Optional.of(Kinds.ROTATION), chosen(store, FAIR));
            keep(store, ISLIP, FAIR);
        }
        try (Store store = Store.open(directory)) {
            assertEquals(Optional.of(Kinds.ISLIP), chosen(store, FAIR));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.onosproject.net.flow.FlowRule;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.flow.Fence;
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.onos.flow.OnosSwitches;
import org.slotwise.onos.flow.Order;
import org.slotwise.onos.flow.OtherMaster;
import org.slotwise.onos.flow.RuleTranslator;

/** Two leaders, one after another, each on a node of its own, and one switch. */
class FlowRuleSwitchesTest {
    private static final DeviceId EDGE = DeviceId.of(1);
    private static final long WAIT_S = 10;

    private final FakeOnos onos = new FakeOnos();

    /** Lets a leader write, as one that has just been asked about is. */
    private static final class Open implements Fence {
        private final long mandate;

        Open(long mandate) {
            this.mandate = mandate;
        }

        @Override
        public long mandate() {
            return mandate;
        }

        @Override
        public void check() {
            assertTrue(isOpen());
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public boolean isToBeKept(byte[] frame) {
            return false;
        }

        @Override
        public void keep(byte[] frame) {
            throw new AssertionError("nothing is to be kept");
        }

        @Override
        public void hasNoTables(DeviceId device) {
            check();
        }
    }

    private OnosSwitches leader(long mandate) {
        return leader(mandate, onos.otherMaster);
    }

    private OnosSwitches leader(long mandate, OtherMaster otherMaster) {
        return new FlowRuleSwitches(onos.devices, onos.flowRules, onos.packets, onos.programs, (device, program, rules) -> entries(),
                onos.meters, otherMaster, FakeOnos.APP, Runnable::run, Runnable::run).under(new Open(mandate));
    }

    private List<TableEntry> entries() {
        return onos.flowRules.of(SlotwiseDevices.onos(EDGE)).stream().flatMap(rule -> RuleTranslator.entry(rule).stream())
                .collect(Collectors.toList());
    }

    private static Update update(Update.Type type, int slot, int queue) {
        return new Update(type, TableEntry.in("slot_schedule").exact("core", 0).exact("bank", 0).exact("slot", slot)
                .action("grant").param("queue", queue).build());
    }

    private static Set<TableEntry> set(Update... updates) {
        return List.of(updates).stream().map(Update::entry).collect(Collectors.toSet());
    }

    private Set<FlowRule> stored() {
        return onos.flowRules.stored(SlotwiseDevices.onos(EDGE));
    }

    @Test
    void whatAFormerLeaderHandedOverBeforeIsReadByTheNext() {
        Update kept = update(Update.Type.INSERT, 3, 1);
        leader(1).write(EDGE, List.of(kept)).join();
        onos.flowRules.held = new ArrayList<>();
        Update late = update(Update.Type.INSERT, 4, 2);
        leader(1).write(EDGE, List.of(late));
        CompletableFuture<List<TableEntry>> read = leader(2).read(EDGE);
        assertFalse(read.isDone(), "read before what was under way arrived");
        onos.flowRules.release();
        assertEquals(set(kept, late), Set.copyOf(read.join()));
        Set<Order> orders = stored().stream().map(rule -> Order.of(rule).orElseThrow()).collect(Collectors.toSet());
        assertEquals(Set.of(Order.Kind.KNOWN), orders.stream().map(Order::kind).collect(Collectors.toSet()));
        assertEquals(Set.of(2L), orders.stream().map(Order::mandate).collect(Collectors.toSet()));
    }

    @Test
    void whatIsDeletedIsInNeitherSwitchNorStore() {
        OnosSwitches leader = leader(1);
        Update first = update(Update.Type.INSERT, 3, 1);
        Update second = update(Update.Type.INSERT, 4, 2);
        leader.write(EDGE, List.of(first, second)).join();
        leader.write(EDGE, List.of(update(Update.Type.DELETE, 3, 1))).join();
        assertEquals(set(second), Set.copyOf(entries()));
        assertEquals(1, stored().size());
        assertEquals(Optional.of(Order.Kind.WRITE), Order.of(stored().iterator().next()).map(Order::kind));
    }

    @Test
    void aSwitchWhoseRulesStandStillGetsAnotherMasterOnceThereIsOne() throws InterruptedException {
        onos.timesAway = 1;
        onos.flowRules.held = new ArrayList<>();
        OnosSwitches impatient = leader(1, onos.otherMaster(1));
        CompletableFuture<Void> written = impatient.write(EDGE, List.of(update(Update.Type.INSERT, 3, 1)));
        assertEquals(SlotwiseDevices.onos(EDGE), onos.givenAway.poll(WAIT_S, TimeUnit.SECONDS));
        onos.flowRules.release();
        written.join();
        assertEquals(1, stored().size());
    }

    @Test
    void aSwitchThatIsWrittenKeepsItsMaster() throws InterruptedException {
        leader(1, onos.otherMaster(1)).write(EDGE, List.of(update(Update.Type.INSERT, 3, 1))).join();
        assertNull(onos.givenAway.poll(50, TimeUnit.MILLISECONDS));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;

class SwitchRulesTest {
    private final Network star = Networks.star(3, 6);
    private final SwitchRules rules = new SwitchRules(star);

    @Test
    void slaveHasParametersRoutesQueuesAndItsOwnRequest() {
        assertEquals(List.of(
                "edge_params[] -> set_edge_params{beacon_hold_frames=1, edge_id=1, guard_ns=10000, is_master=0,"
                        + " mac=3294239981568, master=0, slot_ns=250000}",
                "ipv4_route[dst=167772161/32] -> to_edge{edge=0}",
                "voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}",
                "ipv4_route[dst=167772417/32] -> to_host{mac=2199023321089, port=1}",
                "ipv4_route[dst=167772673/32] -> to_edge{edge=2}",
                "voq[class=0, dst_edge=2] -> enqueue{port=256, queue=2}",
                "signaling[core=0, repeat=1, slot=1] -> send_request{block=0, port=256}"),
                text(rules.fixedRules(star.edges().get(1))));
    }

    @Test
    void masterSendsBeaconsToTheCoreAndToEachSlaveAndItsRequestToTheController() {
        List<String> signaling = text(rules.fixedRules(star.edges().get(0))).stream()
                .filter(rule -> rule.startsWith("signaling")).collect(Collectors.toList());
        assertEquals(List.of(
                "signaling[core=0, repeat=1, slot=0] -> send_commit{edge=0, port=501}",
                "signaling[core=0, repeat=1, slot=1] -> send_commit{edge=1, port=256}",
                "signaling[core=0, repeat=1, slot=2] -> send_commit{edge=2, port=256}",
                "signaling[core=0, repeat=2, slot=0] -> send_request{block=0, port=510}"), signaling);
    }

    @Test
    void edgeWithManyQueuesAsksInBlocks() {
        Network large = Networks.star(17, 40);
        List<String> requests = text(new SwitchRules(large).fixedRules(large.edges().get(5))).stream()
                .filter(rule -> rule.contains("send_request")).collect(Collectors.toList());
        assertEquals(List.of(
                "signaling[core=0, repeat=1, slot=5] -> send_request{block=0, port=256}",
                "signaling[core=0, repeat=2, slot=5] -> send_request{block=1, port=256}"), requests);
    }

    @Test
    void edgesThatAskEveryEighthFrameDoSoInFramesWithoutTheLowestThreeBits() {
        Network rare = Networks.askingEvery(8, Networks.star(3, 8));
        SwitchRules rules = new SwitchRules(rare);
        for (int edge = 0; edge < 2; edge++) {
            int port = edge == 0 ? 510 : 256;
            List<String> requests = text(rules.fixedRules(rare.edges().get(edge))).stream()
                    .filter(rule -> rule.contains("send_request")).collect(Collectors.toList());
            assertEquals(List.of("signaling[core=0, repeat=" + (2 - edge) + ", slot=" + edge
                    + "] -> send_request_every{block=0, mask=7, port=" + port + "}"), requests);
        }
    }

    @Test
    void signalingSlotsAreTheSameInBothBanks() {
        for (int bank = 0; bank < SwitchRules.BANKS; bank++) {
            assertEquals(List.of("slot_schedule[bank=" + bank + ", core=0, slot=2] -> grant{queue=1023}"),
                    text(rules.signalingRules(star.edges().get(2), bank)));
            assertEquals(List.of(
                    "slot_schedule[bank=" + bank + ", core=0, slot=1] -> grant{queue=1023}",
                    "slot_schedule[bank=" + bank + ", core=0, slot=2] -> grant{queue=1023}"),
                    text(rules.signalingRules(star.master(), bank)));
            assertEquals(List.of(
                    "crossbar[bank=" + bank + ", input=257, slot=1] -> connect{port=256}",
                    "crossbar[bank=" + bank + ", input=256, slot=1] -> connect{port=257}",
                    "crossbar[bank=" + bank + ", input=258, slot=2] -> connect{port=256}",
                    "crossbar[bank=" + bank + ", input=256, slot=2] -> connect{port=258}"),
                    text(rules.signalingRules(star.core(), bank)));
        }
    }

    @Test
    void scheduleBecomesGrantsAndConnectionsBehindTheSignalingSlots() {
        FrameSchedule schedule = new FrameSchedule.Builder(3, 3).connect(0, 1, 2).connect(2, 0, 1).build();
        assertEquals(List.of(
                "slot_schedule[bank=1, core=0, slot=1] -> grant{queue=1023}",
                "slot_schedule[bank=1, core=0, slot=3] -> grant{queue=2}"),
                text(rules.bankRules(star.edges().get(1), 1, schedule)));
        List<String> connections = text(rules.bankRules(star.core(), 1, schedule));
        assertEquals(List.of(
                "crossbar[bank=1, input=257, slot=3] -> connect{port=258}",
                "crossbar[bank=1, input=256, slot=5] -> connect{port=257}"),
                connections.subList(connections.size() - 2, connections.size()));
    }

    @Test
    void coreTimingIsInTheTargetsUnit() {
        assertEquals(List.of("core_params[] -> set_core_params{guard=10000, slot=250000, time_per_byte_q16=2621440}"),
                text(rules.fixedRules(star.core())));
        Network bmv2 = star.toBuilder().timestampUnit(TimestampUnit.US).build();
        assertEquals(List.of("core_params[] -> set_core_params{guard=10, slot=250, time_per_byte_q16=2621}"),
                text(new SwitchRules(bmv2).fixedRules(star.core())));
    }

    @Test
    void plainXcpHasOneCapacityWhateverTheSlots() {
        List<String> fixed = text(new SwitchRules(Networks.withXcp(star, OptionalLong.of(100_000_000)))
                .fixedRules(star.edges().get(1)));
        // 100 Mb/s are 12.5 Mbyte/s.
        assertEquals(List.of(
                "xcp_output[queue=0] -> fixed_capacity{overhead=30, throughput=200000000}",
                "xcp_output[queue=2] -> fixed_capacity{overhead=30, throughput=200000000}"),
                fixed.subList(fixed.size() - 2, fixed.size()));
    }

    @Test
    void edgesThatMakeTrainsAreToldWhereTheseWait() {
        Network trains = star.toBuilder().trains(OptionalLong.of(4400), List.of()).build();
        List<String> fixed = text(new SwitchRules(trains).fixedRules(star.edges().get(1))).stream()
                .filter(rule -> rule.contains("aggregat") || rule.contains("train")).collect(Collectors.toList());
        assertEquals(List.of(
                "aggregation[queue=0] -> aggregate{size_bytes=4400}", "train_queue[queue=0] -> set_star_train{voq=0}",
                "aggregation[queue=2] -> aggregate{size_bytes=4400}", "train_queue[queue=2] -> set_star_train{voq=2}"), fixed);
    }

    @Test
    void classesHaveTrainsOfTheirOwnThatWaitInTheQueueOfTheirEdge() {
        List<TrafficClass> classes = List.of(new TrafficClass(2, OptionalInt.empty(), true, 0, TrafficClass.PLAIN_WEIGHT),
                new TrafficClass(1, OptionalInt.of(46), false, 0, TrafficClass.PLAIN_WEIGHT));
        Network trains = star.toBuilder().trains(OptionalLong.of(4400), classes).build();
        int queues = star.edges().size();
        List<TableEntry> rules = new SwitchRules(trains).fixedRules(star.edges().get(1));
        assertTrue(rules.stream().filter(rule -> rule.table().equals("traffic_class")).allMatch(SwitchRules::isFixed));
        List<String> fixed = text(rules);
        for (String rule : List.of("train_queue[queue=0] -> set_star_train{voq=0}",
                "train_queue[queue=" + queues + "] -> set_star_train{voq=0}",
                "train_queue[queue=" + 2 * queues + "] -> set_star_train{voq=0}",
                "aggregation[queue=" + (queues + 2) + "] -> aggregate{size_bytes=4400}",
                "train_queue[queue=" + (2 * queues + 2) + "] -> set_star_train{voq=2}")) {
            assertTrue(fixed.contains(rule), rule + " of " + fixed);
        }
        assertEquals(2, fixed.stream().filter(rule -> rule.startsWith("traffic_class[") && rule.contains("set_class")).count(), fixed.toString());
        assertThrows(InvalidNetworkException.class, () -> star.toBuilder().trains(OptionalLong.empty(), classes).build());
    }

    @Test
    void coreTimingForgivesWhatTimestampsMayBeOff() {
        assertEquals("core_params[] -> set_core_params{guard=4, slot=256, time_per_byte_q16=0}", coreTiming(6_000));
        assertEquals("core_params[] -> set_core_params{guard=0, slot=1000250, time_per_byte_q16=0}",
                coreTiming(1_000_000_000));
    }

    private String coreTiming(long toleranceNs) {
        Network bmv2 = star.toBuilder().timestampUnit(TimestampUnit.US).timestampToleranceNs(toleranceNs).build();
        return text(new SwitchRules(bmv2).fixedRules(star.core())).get(0);
    }

    @Test
    void withXcpEveryQueueHasTheCapacityOfItsSlots() {
        SwitchRules xcpRules = new SwitchRules(Networks.withXcp(star));
        List<String> fixed = text(xcpRules.fixedRules(star.edges().get(1)));
        // A slot carries four packets of 1450 + 30 bytes, 5920 bytes, a frame takes 1.5 ms.
        assertEquals(List.of(
                "xcp_params[] -> set_xcp_params{alpha_q16=26214, beta_q16=14811, gamma_q16=6554,"
                        + " initial_rtt_ns=50000000, min_control_ns=1000000, min_queue_ns=2000000, quantum_ns=1500000}",
                "xcp_output[queue=0] -> slot_capacity{overhead=30, throughput=63146666}",
                "xcp_output[queue=2] -> slot_capacity{overhead=30, throughput=63146666}"),
                fixed.subList(fixed.size() - 3, fixed.size()));
        FrameSchedule schedule = new FrameSchedule.Builder(3, 3).connect(0, 1, 2).connect(2, 1, 2).connect(1, 1, 0).build();
        List<String> bank = text(xcpRules.bankRules(star.edges().get(1), 1, schedule));
        assertEquals(List.of(
                "xcp_slots[bank=1, queue=0] -> granted{slots_a_frame=1}",
                "xcp_slots[bank=1, queue=2] -> granted{slots_a_frame=2}"), bank.subList(bank.size() - 2, bank.size()));
    }

    @Test
    void slotsOfAQueueAreScheduledButNoSignaling() {
        TableEntry slots = TableEntry.in("xcp_slots").exact("bank", 1).exact("queue", 2)
                .action("granted").param("slots_a_frame", 3).build();
        assertTrue(SwitchRules.inBank(slots, 1));
        assertFalse(rules.isSignaling(slots));
    }

    @Test
    void everyEntryIsFixedOrOfOneBankOrDefault() {
        List<TableEntry> all = new ArrayList<>(new SwitchRules(Networks.withXcp(star)).fixedRules(star.master()));
        all.addAll(rules.signalingRules(star.core(), 1));
        for (TableEntry entry : all) {
            int kinds = (SwitchRules.isFixed(entry) ? 1 : 0) + (SwitchRules.inBank(entry, 0) ? 1 : 0)
                    + (SwitchRules.inBank(entry, 1) ? 1 : 0) + (entry.isDefault() ? 1 : 0);
            assertEquals(1, kinds, entry::toString);
        }
        assertTrue(rules.isSignaling(connection(2, 256, 257)));
    }

    private static TableEntry connection(int slot, int input, int output) {
        return TableEntry.in("crossbar").exact("bank", 0).exact("slot", slot).exact("input", input)
                .action("connect").param("port", output).build();
    }

    private static List<String> text(List<TableEntry> entries) {
        return entries.stream().map(TableEntry::toString).collect(Collectors.toList());
    }
}

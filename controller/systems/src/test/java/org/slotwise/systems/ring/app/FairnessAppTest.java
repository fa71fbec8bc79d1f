// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.TableMirror;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.WireConstants;

/** Stations that obey at once. */
class FairnessAppTest {
    private static final int EAST = WireConstants.PORT_RING_EAST;
    private static final int WEST = WireConstants.PORT_RING_WEST;
    /** Byte/s: 85 % of 150 Mb/s. */
    private static final long TARGET = 15_937_500;
    private static final long INTERVAL_NS = 100_000;
    private static final long HOLD_NS = 10 * INTERVAL_NS;

    private FairnessApp app;
    private RingNetwork ring;
    private long nowNs = 5_000_000_000L;
    private final Map<DeviceId, TableMirror> switches = new HashMap<>();
    private final List<Command.Write> writes = new ArrayList<>();
    private final List<Command> others = new ArrayList<>();
    private final Map<Integer, ToldLimits> told = new HashMap<>();

    private void start(Rings rings) {
        ring = rings.build();
        app = new FairnessApp(ring);
        ring.devices().forEach(device -> {
            switches.put(device, new TableMirror());
            deliver(new Event.DeviceReady(device, List.of()));
        });
        assertTrue(app.isConfigured());
        writes.clear();
    }

    private void deliver(Event event) {
        for (Command command : app.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                writes.add(write);
                switches.get(write.device()).apply(write.updates());
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else if (command instanceof Command.PacketOut) {
                Command.PacketOut packet = (Command.PacketOut) command;
                assertEquals(WireConstants.PORT_SELF, packet.port());
                int station = ring.number(packet.device()).orElseThrow();
                told.put(station, new ToldLimits(packet.frame(), station, ring.stations().size()));
            } else {
                others.add(command);
            }
        }
    }

    private List<TableEntry> table(int station, String name) {
        return switches.get(Rings.device(station)).entries(entry -> entry.table().equals(name));
    }

    /** Ringlet and hops by station. */
    private Map<Long, String> ways(int station) {
        return table(station, "ring_way").stream().collect(Collectors.toMap(entry -> entry.matches().get(0).value(),
                entry -> entry.params().get("ringlet") + " " + entry.params().get("hops")));
    }

    private void light(int station, int port, boolean up) {
        deliver(new Event.PortChanged(Rings.device(station), port, up));
    }

    private void endTurn() {
        assertEquals(OptionalLong.of(nowNs), app.nextDeadlineNs());
        deliver(new Event.DeadlineReached());
    }

    private void report(ReportMessage message, int station) {
        Event.PacketIn packet = new Event.PacketIn(Rings.device(station), WireConstants.PORT_LINECARD, message.encode());
        assertTrue(app.claims(packet));
        deliver(packet);
    }

    private List<String> written() {
        List<String> all = writes.stream().flatMap(write -> write.updates().stream()).map(Update::toString).collect(Collectors.toList());
        writes.clear();
        return all;
    }

    // ---- tables and ways ----

    @Test
    void aStationGetsAllItsTables() {
        start(Rings.of(4).weight(1, 3));
        deliver(new Event.DeviceLost(Rings.device(1)));
        deliver(new Event.DeviceReady(Rings.device(1), List.of()));
        assertEquals(List.of(
                "MODIFY station_params[] -> set_station{mac=" + 0x02fd00000001L + ", station=1, stations=4, weight=3}",
                "MODIFY ring_timing[] -> set_timing{bucket_bytes=3000, calm_intervals=10, hol_timer_ns=1000000, hold_intervals=10,"
                        + " interval_ns=100000, intervals_q8=2560000, new_shift=3, old_shift=3, report_intervals=1, wait_intervals=10,"
                        + " watch_intervals=0, window=100, windows_q8=25600}",
                "INSERT ringlet[ringlet=0] -> set_ringlet{capacity=18750000, downstream=2, mode=0, relief=15000000, target=15937500}",
                "INSERT ringlet[ringlet=1] -> set_ringlet{capacity=18750000, downstream=0, mode=0, relief=15000000, target=15937500}",
                "INSERT ipv4_route[dst=167772417/32] -> to_station{station=0}",
                "INSERT ipv4_route[dst=167772673/32] -> to_host{mac=" + 0x020000000002L + ", port=1}",
                "INSERT ipv4_route[dst=167772929/32] -> to_station{station=2}",
                "INSERT ipv4_route[dst=167773185/32] -> to_station{station=3}",
                "INSERT ingress_rate[index=4] -> meter rates{cburst=2147483647, cir=1000000000000, pburst=2147483647, pir=1000000000000}",
                "INSERT ingress_rate[index=6] -> meter rates{cburst=1, cir=1, pburst=2147483647, pir=1000000000000}",
                "INSERT ingress_rate[index=7] -> meter rates{cburst=1, cir=1, pburst=1, pir=1}",
                "INSERT ring_way[station=0] -> reach{hops=1, ringlet=1}",
                "INSERT ring_way[station=2] -> reach{hops=1, ringlet=0}",
                "INSERT ring_way[station=3] -> reach{hops=2, ringlet=0}"), written());
    }

    @Test
    void halfARingHasNoRingletWhereThereIsNoLink() {
        start(Rings.of(3).without(2));
        assertEquals(List.of("ringlet[ringlet=1]"), table(2, "ringlet").stream().map(TableEntry::key).collect(Collectors.toList()));
        assertEquals(List.of("ringlet[ringlet=0]"), table(0, "ringlet").stream().map(TableEntry::key).collect(Collectors.toList()));
        assertEquals(Map.of(0L, "1 2", 1L, "1 1"), ways(2));
        light(2, EAST, false);
        assertEquals(List.of(), written(), "there is no such link");
    }

    @Test
    void aCutSpanIsSteeredAroundAndOnlyWhatChangesIsWritten() {
        start(Rings.of(5));
        assertEquals(Map.of(1L, "0 1", 2L, "0 2", 3L, "1 2", 4L, "1 1"), ways(0));
        light(0, EAST, false);
        light(1, WEST, false);
        assertEquals(List.of(), written(), "both ends tell, and ways are found once");
        endTurn();
        assertEquals(Map.of(1L, "1 4", 2L, "1 3", 3L, "1 2", 4L, "1 1"), ways(0));
        assertEquals(Map.of(0L, "0 4", 2L, "0 1", 3L, "0 2", 4L, "0 3"), ways(1));
        assertEquals(List.of("MODIFY ring_way[station=1] -> reach{hops=4, ringlet=1}", "MODIFY ring_way[station=2] -> reach{hops=3, ringlet=1}",
                "MODIFY ring_way[station=0] -> reach{hops=4, ringlet=0}", "MODIFY ring_way[station=4] -> reach{hops=3, ringlet=0}",
                "MODIFY ring_way[station=0] -> reach{hops=3, ringlet=0}", "MODIFY ring_way[station=1] -> reach{hops=3, ringlet=1}"), written());
        assertEquals("device 3001, port 256 is down, and 1 more: 6 ring paths changed", others.get(0).toString());
        assertEquals(1, app.view().counts().reroutes());

        light(1, WEST, true);
        endTurn();
        assertEquals(List.of(), written(), "one end is still dark");
        deliver(light(Rings.device(0), EAST, true));
        endTurn();
        assertEquals(Map.of(1L, "0 1", 2L, "0 2", 3L, "1 2", 4L, "1 1"), ways(0));
    }

    @Test
    void aStationThatIsAloneHasNoWays() {
        start(Rings.of(3));
        light(1, EAST, false);
        light(0, EAST, false);
        endTurn();
        assertEquals(Map.of(), ways(1));
        assertEquals(Map.of(2L, "1 1"), ways(0));
        assertTrue(app.view().stations().get(0).isSettled());
    }

    @Test
    void whatWasRefusedIsReadAndWrittenAgain() {
        start(Rings.of(3));
        List<Command> commands = app.onEvent(nowNs, weight(Rings.device(1), 7));
        Command.Write write = (Command.Write) commands.get(0);
        commands = app.onEvent(nowNs, new Event.WriteFailed(write.device(), write.batch()));
        assertEquals(Rings.device(1), ((Command.ReadTables) commands.get(0)).device());
        assertEquals(1, app.view().counts().writeFailures());
        deliver(new Event.DeviceReady(Rings.device(1), switches.get(Rings.device(1)).entries(entry -> true)));
        assertTrue(written().get(0).endsWith("weight=7}"));
        assertThrows(IllegalArgumentException.class, () -> app.onEvent(0, new Event.DeviceLost(DeviceId.of(1))));
    }

    // ---- choices ----

    private static Event.Order light(DeviceId device, int port, boolean up) {
        return Event.Call.of((FairnessApp ring) -> ring.reportPort(new SwitchPort(device, port), up));
    }

    private static Event.Order weight(DeviceId device, int weight) {
        return Event.Call.of((FairnessApp ring) -> ring.setWeight(device, weight));
    }

    private static Event.Order classes(Station station, List<TrafficRule> rules) {
        return Event.Call.of((FairnessApp ring) -> ring.setClasses(station, rules));
    }

    @Test
    void weightClassesAndModeAreWrittenWhereTheyChange() {
        start(Rings.of(3));
        deliver(weight(Rings.device(2), 9));
        assertEquals(1, written().size());
        deliver(weight(Rings.device(2), 9));
        assertEquals(List.of(), written());
        deliver(Event.Call.of((FairnessApp ring) -> ring.setMode(RingMode.CONTROLLER)));
        List<String> modes = written();
        assertEquals(6, modes.size());
        assertTrue(modes.stream().allMatch(update -> update.startsWith("MODIFY ringlet") && update.contains("mode=2")), modes.toString());

        Station station = ring.stations().get(0);
        deliver(classes(station, List.of(new TrafficRule(1, 46, RingClass.RESERVED, 2_000_000),
                new TrafficRule(1, 10, RingClass.COMMITTED, 80_000_000), new TrafficRule(1, 0, RingClass.BEST_EFFORT, 8_000))));
        assertEquals(List.of("INSERT traffic_class[dscp=0&63]@10 -> set_class{traffic_class=0}",
                "INSERT traffic_class[dscp=10&63]@10 -> set_class{traffic_class=2}",
                "INSERT traffic_class[dscp=46&63]@10 -> set_class{traffic_class=3}",
                "MODIFY ingress_rate[index=4] -> meter rates{cburst=3000, cir=1000, pburst=3000, pir=1000}",
                "MODIFY ingress_rate[index=6] -> meter rates{cburst=100000, cir=10000000, pburst=2147483647, pir=1000000000000}",
                "MODIFY ingress_rate[index=7] -> meter rates{cburst=3000, cir=250000, pburst=3000, pir=250000}"), written());
        deliver(classes(station, List.of()));
        assertEquals(6, written().size(), "and back");
        assertEquals(List.of(), app.view().stations().get(0).settings().rules());
        deliver(weight(DeviceId.of(1), 9));
        assertEquals(List.of(), written(), "a station of a network before this one");
    }

    // ---- fairness ----

    private void congested(int stations) {
        start(Rings.of(stations).mode(RingMode.CONTROLLER));
    }

    @Test
    void allStationsBeforeACongestedLinkAreToldTheSame() {
        congested(5);
        report(new ReportMessage(3, 0, 1).source(1, WireConstants.NO_LIMIT).source(3, WireConstants.NO_LIMIT).source(2, 9_000_000), 3);
        assertEquals(3, told.size());
        for (int station = 1; station <= 3; station++) {
            assertEquals(0, told.get(station).ringlet());
            assertEquals(1, told.get(station).entries().size());
            assertEquals(3, told.get(station).entries().get(0).head());
            assertEquals(3 - station, told.get(station).entries().get(0).hops());
            assertEquals(TARGET / 3, told.get(station).entries().get(0).rate());
            assertEquals(nowNs / 1000, told.get(station).sequence());
        }
        Span span = app.view().spans().get(0);
        assertEquals(OptionalLong.of(TARGET / 3 * 8), span.advertisedBps());
        assertEquals(OptionalLong.empty(), span.sourcesBps().get(1));
        assertEquals(OptionalLong.of(72_000_000), span.sourcesBps().get(2));
    }

    @Test
    void onTheOtherRingletTheSpanIsOnTheOtherSide() {
        congested(5);
        report(new ReportMessage(3, 1, 1).source(0, 5).source(3, 5), 3);
        assertEquals(Set.of(3, 4, 0), told.keySet());
        assertEquals(2, told.get(0).entries().get(0).hops());
        assertEquals(1, told.get(0).ringlet());
    }

    /** Station 2 reports the same for a window, in which time goes on. */
    private void reportForAWindow(long... rates) {
        for (int interval = 0; interval < ring.timing().windowIntervals(); interval++) {
            nowNs += ring.timing().intervalNs();
            ReportMessage report = new ReportMessage(2, 0, nowNs);
            for (int source = 0; source < rates.length; source++) {
                report.source(source, rates[source]);
            }
            report(report, 2);
        }
    }

    private long toldToStation2() {
        return told.get(2).entries().get(0).rate();
    }

    @Test
    void whoAddsLessThanItMayLeavesTheRestAndWhoJoinsCountsAtOnce() {
        congested(4);
        report(new ReportMessage(2, 0, 1).source(0, 5_312_500).source(1, 1_000_000).source(2, 8_000_000), 2);
        assertEquals(TARGET / 3, toldToStation2(), "who has left nothing yet is not known to be satisfied");
        reportForAWindow(5_312_500, 1_000_000, 8_000_000);
        assertEquals((TARGET - 1_000_000) / 2, toldToStation2());
        reportForAWindow(1_000_000, 1_000_000, 2_000_000);
        assertEquals(TARGET - 2_000_000, toldToStation2(), "of all that are satisfied the largest is not");
        reportForAWindow(1_000_000, WireConstants.NO_LIMIT, 2_000_000);
        assertEquals(TARGET - 3_000_000, toldToStation2());
    }

    @Test
    void whoSendsAPacketNowAndThenLeavesTheRestAfterSilenceAndWithoutCongestion() {
        congested(4);
        // 94 bytes in every second window of 10 ms.
        reportForAWindow(WireConstants.NO_LIMIT, WireConstants.NO_LIMIT);
        reportForAWindow(TARGET / 2, 9_400);
        assertEquals(TARGET - 9_400, told.get(0).entries().get(0).rate());
        for (int window = 0; window < 4; window++) {
            reportForAWindow(TARGET - 9_400);
            assertEquals(TARGET, told.get(0).entries().get(0).rate());
            reportForAWindow(TARGET, 9_400);
            assertEquals(TARGET - 9_400, told.get(0).entries().get(0).rate());
        }
        nowNs += HOLD_NS;
        deliver(new Event.DeadlineReached());
        assertEquals(List.of(), app.view().spans());
        nowNs += 60_000_000_000L;
        report(new ReportMessage(2, 0, nowNs).source(0, 18_000_000).source(1, 9_400), 2);
        assertEquals(TARGET - 9_400, told.get(0).entries().get(0).rate(), "the first report of the next congestion");
        report(new ReportMessage(2, 0, nowNs + 1).source(0, 18_000_000).source(1, WireConstants.NO_LIMIT), 2);
        assertEquals(TARGET / 2, told.get(0).entries().get(0).rate(), "it wants more now");
        report(new ReportMessage(2, 0, nowNs + 2).source(0, 18_000_000).source(1, 9_400), 2);
        assertEquals(TARGET / 2, told.get(0).entries().get(0).rate(), "and has left nothing since");
    }

    @Test
    void smallPartsAreKnownOverSeveralWindows() {
        start(Rings.of(64).mode(RingMode.CONTROLLER));
        int window = ring.timing().windowIntervals();
        for (int interval = 0; interval < 8 * window; interval++) {
            nowNs += ring.timing().intervalNs();
            for (int block = 0; block < 4; block++) {
                ReportMessage report = new ReportMessage(62, 0, nowNs).block(block);
                for (int source = 16 * block; source < Math.min(63, 16 * block + 16); source++) {
                    report.source(source, source == 0 ? 15_000_000 : 18_800);
                }
                report(report, 62);
            }
        }
        // Of 253 kB/s a window has less than a bucket.
        assertTrue(TARGET / 63 * ring.timing().windowNs() / 1e9 < ring.timing().bucketBytes());
        assertEquals(TARGET - 62 * 18_800, told.get(0).entries().get(0).rate());
    }

    @Test
    void whatIsToldMoreComesNoSoonerThanTheHoldTimeAllows() {
        start(Rings.of(4).mode(RingMode.CONTROLLER).holdIntervals(400));
        reportForAWindow(WireConstants.NO_LIMIT, WireConstants.NO_LIMIT);
        reportForAWindow(TARGET / 2, TARGET / 2);
        // The third one ends, but for 40 ms those that stay have not heard of it.
        reportForAWindow(TARGET / 2, TARGET / 2, WireConstants.NO_LIMIT);
        for (int windows = 0; windows < 6; windows++) {
            reportForAWindow(TARGET / 3, TARGET / 3);
            assertEquals(TARGET / 2, told.get(0).entries().get(0).rate());
        }
    }

    @Test
    void whatWasLowWhileLittleWasToldIsNoSign() {
        congested(4);
        reportForAWindow(5_000_000, 5_000_000, 5_000_000);
        reportForAWindow(1_000_000, 5_312_500, 5_312_500);
        assertEquals((TARGET - 1_000_000) / 2, toldToStation2());
        reportForAWindow(1_000_000, 5_312_500, 7_000_000);
        assertEquals((TARGET - 1_000_000) / 2, toldToStation2(), "station 1 added what it was told a window ago");
        reportForAWindow(1_000_000, 5_312_500, 7_000_000);
        reportForAWindow(1_000_000, 5_312_500, 7_000_000);
        assertEquals(TARGET - 1_000_000 - 5_312_500, toldToStation2(), "and was told more since");
    }

    @Test
    void weightsCount() {
        start(Rings.of(3).mode(RingMode.CONTROLLER).weight(0, 2));
        report(new ReportMessage(1, 0, 1).source(0, 5_000_000).source(1, 5_000_000), 1);
        assertEquals(TARGET / 3, told.get(0).entries().get(0).rate(), "by weight");
    }

    @Test
    void whatIsCommittedIsTakenOffButNoMoreThanMayCome() {
        start(Rings.of(3).mode(RingMode.CONTROLLER).rule(new TrafficRule(1, 46, RingClass.RESERVED, 16_000_000)));
        report(new ReportMessage(1, 0, 1).link(16_000_000).source(0, 7_000_000).source(1, 8_000_000), 1);
        assertEquals((TARGET - 1_000_000) / 2, told.get(0).entries().get(0).rate());
        report(new ReportMessage(1, 0, 2).link(18_000_000).source(0, 7_000_000).source(1, 7_500_000), 1);
        assertEquals((TARGET - 2_000_000) / 2, told.get(0).entries().get(0).rate());
    }

    @Test
    void ofSeveralLinksOnlyThoseMatterThatLeaveLess() {
        congested(8);
        // The heads 1 to 6 are the farther the tighter, but for 4.
        for (int head = 1; head <= 6; head++) {
            ReportMessage message = new ReportMessage(head, 0, 1);
            for (int source = 0; source < (head == 4 ? 1 : head); source++) {
                message.source(source, WireConstants.NO_LIMIT);
            }
            report(message.source(head, WireConstants.NO_LIMIT), head);
        }
        assertEquals(List.of("1 " + TARGET / 2, "2 " + TARGET / 3, "3 " + TARGET / 4, "5 " + TARGET / 7),
                told.get(0).entries().stream().map(entry -> entry.hops() + " " + entry.rate()).collect(Collectors.toList()),
                "of the fifth the rate, from the nearer link on");
        assertEquals(List.of("0 " + TARGET / 7), told.get(6).entries().stream()
                .map(entry -> entry.hops() + " " + entry.rate()).collect(Collectors.toList()));
    }

    @Test
    void aLinkThatRecoversIsToldAsItRisesAndThenForgotten() {
        congested(4);
        report(new ReportMessage(2, 0, 1).source(0, WireConstants.NO_LIMIT).source(2, WireConstants.NO_LIMIT), 2);
        assertEquals(OptionalLong.of(nowNs + HOLD_NS), app.nextDeadlineNs());
        nowNs += 100_000;
        report(new ReportMessage(2, 0, 2).phase(RingPhase.RISING.code()).told(9_000_000).source(0, WireConstants.NO_LIMIT).source(2, WireConstants.NO_LIMIT), 2);
        assertEquals(9_000_000, told.get(0).entries().get(0).rate());
        nowNs += 100_000;
        report(new ReportMessage(2, 0, 3).phase(RingPhase.RISING.code()).told(18_750_000).source(0, WireConstants.NO_LIMIT).source(2, WireConstants.NO_LIMIT), 2);
        assertEquals(List.of(), told.get(0).entries());
        told.clear();
        nowNs += HOLD_NS;
        deliver(new Event.DeadlineReached());
        assertEquals(List.of(), app.view().spans());
        assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
        assertEquals(Map.of(), told);
    }

    @Test
    void aReportOfManyStationsIsDecidedWhenAllBlocksAreThere() {
        congested(20);
        report(new ReportMessage(3, 0, 7).block(1).source(18, 5), 3);
        assertEquals(Map.of(), told);
        report(new ReportMessage(3, 0, 7).block(0).source(3, 5), 3);
        assertEquals(6, told.size(), "18, 19, 0 .. 3");
        assertEquals(TARGET / 2, told.get(18).entries().get(0).rate());
        told.clear();
        report(new ReportMessage(3, 0, 8).block(1).source(18, 5), 3);
        report(new ReportMessage(3, 0, 9).block(0).source(3, 5), 3);
        assertEquals(Map.of(), told, "blocks of two times");
    }

    @Test
    void aHeadWhoseReportsNeverComeWholeIsForgotten() {
        congested(20);
        report(new ReportMessage(3, 0, 1).block(1).source(18, 5), 3);
        report(new ReportMessage(3, 0, 1).block(0).source(3, 5), 3);
        assertEquals(1, app.view().spans().size());
        long beganNs = nowNs;
        for (int localNs = 2; nowNs < beganNs + HOLD_NS; localNs++) {
            nowNs += INTERVAL_NS;
            report(new ReportMessage(3, 0, localNs).block(0).source(3, 5), 3);
        }
        deliver(new Event.DeadlineReached());
        assertEquals(List.of(), app.view().spans());
    }

    @Test
    void whatIsNoReportOfAStationChangesNothingAndIsCounted() {
        congested(4);
        byte[] good = new ReportMessage(2, 0, 1).source(0, 5).encode();
        byte[] changed = good.clone();
        changed[60] ^= 1;
        deliver(new Event.PacketIn(Rings.device(2), WireConstants.PORT_LINECARD, changed));
        deliver(new Event.PacketIn(Rings.device(2), WireConstants.PORT_LINECARD, Arrays.copyOf(good, good.length - 1)));
        deliver(new Event.PacketIn(Rings.device(2), EAST, good));
        deliver(new Event.PacketIn(Rings.device(1), WireConstants.PORT_LINECARD, good));
        report(new ReportMessage(2, 2, 1), 2);
        report(new ReportMessage(2, 0, 1).phase(3), 2);
        report(new ReportMessage(2, 0, 1).block(1), 2);
        assertEquals(Map.of(), told);
        assertEquals(List.of(), app.view().spans());
        report(new ReportMessage(2, 0, 5).source(0, 5), 2);
        told.clear();
        report(new ReportMessage(2, 0, 5).source(0, 5), 2);
        report(new ReportMessage(2, 0, 4).source(0, 5), 2);
        assertEquals(Map.of(), told);
        assertEquals(Map.of(ReportRefusal.TRUNCATED, 1L, ReportRefusal.BAD_CHECK, 1L, ReportRefusal.UNEXPECTED_PORT, 1L,
                ReportRefusal.NOT_A_MEMBER, 1L, ReportRefusal.BAD_FIELD, 3L, ReportRefusal.STALE, 2L), app.view().counts().refused());
        assertFalse(app.claims(new Event.PacketIn(DeviceId.of(1), WireConstants.PORT_LINECARD, good)));
        for (int size = 0; size < good.length; size++) {
            deliver(new Event.PacketIn(Rings.device(2), WireConstants.PORT_LINECARD, Arrays.copyOf(good, size)));
        }
        assertEquals(Map.of(), told);
    }

    @Test
    void aStationThatBeginsAnewMayCountTimeAnew() {
        congested(4);
        report(new ReportMessage(2, 0, 500).source(0, 5), 2);
        deliver(new Event.DeviceLost(Rings.device(2)));
        assertEquals(List.of(), app.view().spans());
        told.clear();
        deliver(new Event.DeviceReady(Rings.device(2), List.of()));
        report(new ReportMessage(2, 0, 1).source(0, 5), 2);
        assertEquals(3, told.size());
        assertEquals(nowNs / 1000 + 1, told.get(0).sequence());
    }

    @Test
    void inOtherModesNobodyIsTold() {
        start(Rings.of(4));
        report(new ReportMessage(2, 0, 1).source(0, 5), 2);
        assertEquals(Map.of(), told);
        assertEquals(1L, app.view().counts().refused().get(ReportRefusal.UNEXPECTED_PORT));
    }

    @Test
    void inOtherModesWhatIsWatchedIsShownAndNobodyIsTold() {
        start(Rings.of(4).watchIntervals(50));
        deliver(new Event.DeviceLost(Rings.device(1)));
        deliver(new Event.DeviceReady(Rings.device(1), List.of()));
        assertTrue(written().stream().anyMatch(update -> update.contains("watch_intervals=50")));
        report(new ReportMessage(2, 0, 1).source(0, 5_000_000).source(1, 3_000_000).told(4_000_000), 2);
        assertEquals(Map.of(), told);
        Span span = app.view().spans().get(0);
        assertEquals(OptionalLong.of(32_000_000), span.advertisedBps());
        assertEquals(Map.of(0, OptionalLong.of(40_000_000), 1, OptionalLong.of(24_000_000)), span.sourcesBps());
        assertEquals(2, span.reach());
        // Three reports may be missing: 50 intervals of 100 us each.
        long dueNs = nowNs + 15_000_000;
        assertEquals(OptionalLong.of(dueNs), app.nextDeadlineNs());
        nowNs = dueNs;
        deliver(new Event.DeadlineReached());
        assertEquals(List.of(), app.view().spans());
    }
}

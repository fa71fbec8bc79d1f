// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
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
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.ops.model.Meshes;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.systems.ops.model.OpsTraffic;

/** Switches that obey at once. */
class LabelAppTest {
    private LabelApp app;
    private final Map<DeviceId, TableMirror> switches = new HashMap<>();
    private final List<Command.Write> writes = new ArrayList<>();
    private final List<Command> others = new ArrayList<>();
    private final long nowNs = 1_000_000;

    private void start(Meshes mesh) {
        start(mesh.build());
    }

    private void start(OpsNetwork network) {
        app = new LabelApp(network);
        app.topology().nodes().forEach(node -> {
            assertFalse(app.isConfigured());
            switches.put(node.device(), new TableMirror());
            deliver(new Event.DeviceReady(node.device(), List.of()));
        });
        assertTrue(app.isConfigured());
        assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
    }

    private void deliver(Event event) {
        for (Command command : app.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                writes.add(write);
                switches.get(write.device()).apply(write.updates());
                write.updates().forEach(update -> assertTrue(app.owns().has(write.device(), update.entry()), update::toString));
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else {
                others.add(command);
            }
        }
    }

    /** Device and changes of each batch since it was asked last. */
    private List<String> written() {
        List<String> all = writes.stream().map(write -> write.device() + " "
                + write.updates().stream().map(Update::toString).collect(Collectors.joining("; "))).collect(Collectors.toList());
        writes.clear();
        return all;
    }

    private void light(DeviceId device, boolean up, int... ports) {
        for (int port : ports) {
            deliver(new Event.PortChanged(device, port, up));
        }
    }

    private static Event.Order light(DeviceId device, int port, boolean up) {
        return Event.Call.of((LabelApp ops) -> ops.reportPort(new SwitchPort(device, port), up));
    }

    private static Event.Order target(DeviceId device, int port, double target) {
        return Event.Call.of((LabelApp ops) -> ops.setTarget(new SwitchPort(device, port), target));
    }

    private static Event.Order weight(int trafficClass, double weight) {
        return Event.Call.of((LabelApp ops) -> ops.setWeight(trafficClass, weight));
    }

    private void endTurn() {
        assertEquals(OptionalLong.of(nowNs), app.nextDeadlineNs());
        deliver(new Event.DeadlineReached());
        assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
    }

    private List<String> notices() {
        List<String> all = others.stream().map(Command::toString).collect(Collectors.toList());
        others.clear();
        return all;
    }

    /** Choices by edge. */
    private Map<Long, List<Long>> routes(int number) {
        return switches.get(Meshes.switchDevice(number)).entries(entry -> entry.table().equals("label_route")).stream()
                .collect(Collectors.toMap(entry -> entry.matches().get(0).value(), entry -> List.of(entry.params().get("first"),
                        entry.params().get("second"), entry.params().get("third"), entry.params().get("fourth"))));
    }

    @Test
    void aSwitchGetsAllItsTablesInOneBatch() {
        start(Meshes.triangle().with(Meshes.settings().target(0.3)));
        assertEquals("4001 MODIFY ops_params[] -> set_ops_params{converts=0, fibre_shift=1, framing_bytes=50, guard=0, longest_bytes=1500,"
                + " ram=72000, time_per_byte_q16=524288, wavelengths=1}; "
                + "MODIFY xcp_params[] -> set_xcp_params{alpha_q16=13107, beta_q16=3670, gamma_q16=6554, initial_rtt_ns=50000000,"
                + " min_control_ns=50000000, min_queue_ns=50000000, quantum_ns=0}; "
                + "INSERT label_route[dst_edge=0] -> to_fibres{first=2, fourth=255, second=255, third=255}; "
                + "INSERT label_route[dst_edge=1] -> to_fibres{first=0, fourth=255, second=1, third=255}; "
                + "INSERT label_route[dst_edge=2] -> to_fibres{first=1, fourth=255, second=0, third=255}; "
                + "INSERT agent[port=256] -> set_target{throughput=600000000}; "
                + "INSERT agent[port=258] -> set_target{throughput=600000000}; "
                + "INSERT agent[port=260] -> set_target{throughput=600000000}", written().get(0));
    }

    @Test
    void anEdgeGetsItsNumberAndAQueueForEachOther() {
        start(Meshes.triangle());
        assertEquals("5002 MODIFY edge_params[] -> set_label_params{deflections=3, edge_id=1, framing_bytes=50, hops=32, mac=" + 0x02f900000001L + "}; "
                + "MODIFY fibre_params[] -> set_fibres{fibre_shift=1, wavelengths=1}; "
                + "INSERT ipv4_route[dst=167837697/32] -> to_edge{edge=0}; "
                + "INSERT ipv4_route[dst=167837698/32] -> to_host{mac=" + 0x02fc00000001L + ", port=1}; "
                + "INSERT ipv4_route[dst=167837699/32] -> to_edge{edge=2}; "
                + "INSERT voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}; "
                + "INSERT voq[class=0, dst_edge=2] -> enqueue{port=256, queue=2}", written().get(4));
    }

    @Test
    void withoutProbesThereAreNoAgentsAndTimesAreInTheUnitOfTheSwitch() {
        start(Meshes.triangle().with(new OpsSettings.Builder().wavelengths(2, true, 1).rateBps(20_000_000).unit(TimestampUnit.US)
                .ramBytes(9000).trains(1500, 0, 5999).ways(0, 8)));
        // 0.4 us a byte.
        assertEquals("4001 MODIFY ops_params[] -> set_ops_params{converts=1, fibre_shift=1, framing_bytes=0, guard=6, longest_bytes=1500,"
                + " ram=3599, time_per_byte_q16=26214, wavelengths=2}",
                written().get(0).split("; ", 2)[0]);
        assertTrue(switches.values().stream().allMatch(tables -> tables.entries(entry -> entry.table().equals("agent")).isEmpty()));
        assertEquals(List.of(), notices());
    }

    @Test
    void aCutIsWrittenOnceForBothEndsAndOnlyWhatChanged() {
        start(Meshes.triangle());
        written();
        light(Meshes.switchDevice(0), false, 256, 257);
        light(Meshes.switchDevice(1), false, 256, 257);
        assertFalse(app.view().nodes().get(Meshes.switchDevice(0)).isSettled());
        assertEquals(List.of(), written());
        endTurn();
        assertEquals(List.of(
                "4001 MODIFY label_route[dst_edge=1] -> to_fibres{first=1, fourth=255, second=255, third=255}; "
                        + "MODIFY label_route[dst_edge=2] -> to_fibres{first=1, fourth=255, second=255, third=255}",
                "4002 MODIFY label_route[dst_edge=0] -> to_fibres{first=1, fourth=255, second=255, third=255}; "
                        + "MODIFY label_route[dst_edge=2] -> to_fibres{first=1, fourth=255, second=255, third=255}",
                "4003 MODIFY label_route[dst_edge=0] -> to_fibres{first=1, fourth=255, second=255, third=255}; "
                        + "MODIFY label_route[dst_edge=1] -> to_fibres{first=0, fourth=255, second=255, third=255}"), written());
        assertEquals(List.of("device 4001, port 256 is down, and 3 more: 6 label routes changed"), notices());
        assertEquals(Set.of(256, 257), app.view().nodes().get(Meshes.switchDevice(1)).darkPorts());

        // One end, and one wavelength, is enough to keep it dark.
        light(Meshes.switchDevice(0), true, 256, 257);
        light(Meshes.switchDevice(1), true, 256);
        endTurn();
        assertEquals(List.of(), written());
        light(Meshes.switchDevice(1), true, 257);
        endTurn();
        assertEquals(List.of(0L, 1L, 255L, 255L), routes(0).get(1L));
        assertEquals(3, written().size());
        assertEquals(2, app.view().reroutes());
    }

    @Test
    void toAnEdgeWhoseFibreIsDarkNobodyHasAWay() {
        start(Meshes.triangle());
        written();
        light(Meshes.edgeDevice(1), false, 256, 257);
        endTurn();
        assertEquals(List.of("4001 DELETE label_route[dst_edge=1] -> to_fibres{first=0, fourth=255, second=1, third=255}",
                "4002 DELETE label_route[dst_edge=1] -> to_fibres{first=2, fourth=255, second=255, third=255}",
                "4003 DELETE label_route[dst_edge=1] -> to_fibres{first=0, fourth=255, second=1, third=255}"), written());
        assertEquals(Set.of(0, 2), app.view().nodes().get(Meshes.switchDevice(0)).routes().keySet());
        deliver(light(Meshes.edgeDevice(1), 256, true));
        deliver(light(Meshes.edgeDevice(1), 257, true));
        endTurn();
        assertEquals(Set.of(0L, 1L, 2L), routes(0).keySet());
    }

    @Test
    void aSwitchThatComesBackGetsAllAgainWhateverItKept() {
        start(Meshes.triangle());
        List<String> first = written();
        light(Meshes.switchDevice(0), false, 256, 257);
        deliver(new Event.DeviceLost(Meshes.switchDevice(2)));
        endTurn();
        assertEquals(2, written().size(), "the one that is gone is not written to");
        TableEntry stale = TableEntry.in("label_route").exact("dst_edge", 77).action("to_fibres").param("first", 0).param("second", 255)
                .param("third", 255).param("fourth", 255).build();
        switches.get(Meshes.switchDevice(2)).reset(List.of(stale));
        deliver(new Event.DeviceReady(Meshes.switchDevice(2), List.of(stale)));
        String again = written().get(0);
        assertTrue(again.startsWith("4003 DELETE label_route[dst_edge=77]"), again);
        assertTrue(again.contains("MODIFY ops_params[]") && again.contains("MODIFY xcp_params[]"), again);
        assertEquals(Map.of(0L, List.of(1L, 255L, 255L, 255L), 1L, List.of(0L, 255L, 255L, 255L), 2L, List.of(2L, 255L, 255L, 255L)), routes(2));
        deliver(new Event.DeviceReady(Meshes.edgeDevice(0), List.of()));
        assertEquals(first.subList(3, 4), written());
    }

    @Test
    void whatASwitchRefusesIsReadAndWrittenAgain() {
        app = new LabelApp(Meshes.triangle().build());
        Command.Write write = (Command.Write) app.onEvent(nowNs, new Event.DeviceReady(Meshes.switchDevice(0), List.of())).get(0);
        List<Command> answer = app.onEvent(nowNs, new Event.WriteFailed(Meshes.switchDevice(0), write.batch()));
        assertTrue(answer.size() == 1 && answer.get(0) instanceof Command.ReadTables, answer::toString);
        Command.Write again = (Command.Write) app.onEvent(nowNs, new Event.DeviceReady(Meshes.switchDevice(0), List.of())).get(0);
        assertEquals(write.updates(), again.updates());
        assertEquals(1, app.view().writeFailures());
        assertFalse(app.isConfigured());
    }

    @Test
    void aTargetIsWrittenAtOnceAndOfOutputsThatThereAreOnly() {
        start(Meshes.triangle());
        written();
        deliver(target(Meshes.switchDevice(1), 258, 0.5));
        assertEquals(List.of("4002 MODIFY agent[port=258] -> set_target{throughput=1000000000}"), written());
        deliver(target(Meshes.switchDevice(1), 258, 0.5));
        deliver(target(Meshes.switchDevice(1), 259, 0.5));
        deliver(target(Meshes.switchDevice(7), 256, 0.5));
        deliver(target(Meshes.edgeDevice(1), 256, 0.5));
        assertEquals(List.of(), written());
        assertEquals(Map.of(256, 1.0, 258, 0.5, 260, 1.0), app.view().nodes().get(Meshes.switchDevice(1)).targets());
    }

    @Test
    void theSmallestTargetIsNotToldAsNone() {
        start(Meshes.triangle());
        written();
        deliver(target(Meshes.switchDevice(1), 258, Double.MIN_VALUE));
        assertEquals(List.of("4002 MODIFY agent[port=258] -> set_target{throughput=1}"), written());
    }

    @Test
    void aWeightIsWrittenToAllEdgesAndOfClassesThatShareOutputsOnly() {
        start(Meshes.fair());
        written();
        assertEquals(Map.of(0, 2.0, 1, 3.0, 2, 0.5), app.view().weights());
        deliver(weight(1, 4));
        String change = " MODIFY train_weight[class=1] -> set_weight{per_byte=16384}";
        assertEquals(List.of("5001" + change, "5002" + change, "5003" + change), written());
        deliver(weight(1, 4));
        deliver(weight(3, 4));
        assertEquals(List.of(), written());
        assertEquals(4.0, app.view().weights().get(1));
        start(Meshes.triangle());
        written();
        deliver(weight(0, 4));
        assertEquals(List.of(), written());
        assertEquals(Map.of(), app.view().weights());
    }

    @Test
    void withoutSwitchesAnEdgeTakesTheFibresThatHaveLight() {
        start(Meshes.twoLinks(new OpsTraffic.Builder().build(), List.of()));
        assertTrue(written().get(0).endsWith("INSERT voq[class=0, dst_edge=1] -> enqueue_either{port=258, queue=1, second=256}"));
        assertEquals(Map.of(1, List.of(1, 0)), app.view().nodes().get(Meshes.edgeDevice(0)).routes());
        assertEquals(2, app.topology().links().size());
        assertEquals("5001:258 > 5002:258", app.topology().links().get(0).there().toString());
        light(Meshes.edgeDevice(1), false, 259);
        endTurn();
        assertEquals(List.of("5001 MODIFY voq[class=0, dst_edge=1] -> enqueue{port=256, queue=1}",
                "5002 MODIFY voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}"), written());
        assertEquals(List.of("device 5002, port 259 is down: 2 label routes changed"), notices());
        light(Meshes.edgeDevice(0), false, 256);
        endTurn();
        assertEquals(List.of("5001 DELETE voq[class=0, dst_edge=1] -> enqueue{port=256, queue=1}",
                "5002 DELETE voq[class=0, dst_edge=0] -> enqueue{port=256, queue=0}"), written());
        assertEquals(Map.of(), app.view().nodes().get(Meshes.edgeDevice(1)).routes());
        light(Meshes.edgeDevice(1), true, 259);
        endTurn();
        assertEquals(List.of("5001 INSERT voq[class=0, dst_edge=1] -> enqueue{port=258, queue=1}",
                "5002 INSERT voq[class=0, dst_edge=0] -> enqueue{port=258, queue=0}"), written());
        assertEquals(3, app.view().reroutes());
    }

    @Test
    void noPacketAndNoOtherPortIsForIt() {
        start(Meshes.triangle());
        assertFalse(app.claims(new Event.PacketIn(Meshes.switchDevice(0), 256, new byte[60])));
        light(Meshes.switchDevice(0), false, 1, 300, 262);
        light(Meshes.edgeDevice(0), false, 1, 258);
        deliver(light(DeviceId.of(9), 256, false));
        assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.TextFormat;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.Node;
import org.slotwise.systems.ops.app.LabelApp;
import org.slotwise.systems.ops.model.Meshes;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.tables.SwitchRules;
import p4.config.v1.P4InfoOuterClass.P4Info;
import p4.v1.P4RuntimeOuterClass;
import p4.v1.P4RuntimeOuterClass.PacketIn;
import p4.v1.P4RuntimeOuterClass.PacketMetadata;
import p4.v1.P4RuntimeOuterClass.PacketOut;

class ProgramInfoTest {
    private final Network network = Networks.withXcp(Networks.star(4, 20));
    private final SwitchRules rules = new SwitchRules(network);
    private final FrameSchedule schedule = new FrameSchedule.Builder(4, 16).connect(15, 1, 2).build();

    @Test
    void everyRuleOfAnEdgeIsOneOfTheProgram() throws IOException {
        for (Edge edge : network.edges()) {
            List<TableEntry> entries = new ArrayList<>(rules.fixedRules(edge));
            entries.addAll(rules.bankRules(edge, 1, schedule));
            roundTrip(Programs.edge().info(), entries);
        }
    }

    @Test
    void everyRuleOfTheCoreIsOneOfTheProgram() throws IOException {
        List<TableEntry> entries = new ArrayList<>(rules.fixedRules(network.core()));
        entries.addAll(rules.bankRules(network.core(), 0, schedule));
        roundTrip(Programs.core().info(), entries);
    }

    @Test
    void everyRuleOfAStationIsOneOfTheProgramAndItsMeterCellsAreModified() throws IOException {
        ProgramInfo info = Programs.ring().info();
        FairnessApp app = new FairnessApp(Rings.of(4).build());
        int cells = 0;
        for (Command command : app.onEvent(0, new Event.DeviceReady(Rings.device(0), List.of()))) {
            for (Update update : ((Command.Write) command).updates()) {
                if (MeterCell.is(update.entry())) {
                    P4RuntimeOuterClass.Update encoded = info.encode(update);
                    assertEquals(P4RuntimeOuterClass.Update.Type.MODIFY, encoded.getType());
                    assertEquals(4 + List.of(0, 2, 3).get(cells++), encoded.getEntity().getMeterEntry().getIndex().getIndex());
                    assertTrue(encoded.getEntity().getMeterEntry().getConfig().getPir() > 0);
                    P4RuntimeOuterClass.Update deleted = info.encode(new Update(Update.Type.DELETE, update.entry()));
                    assertEquals(P4RuntimeOuterClass.Update.Type.MODIFY, deleted.getType());
                    assertFalse(deleted.getEntity().getMeterEntry().hasConfig());
                } else {
                    roundTrip(info, List.of(update.entry()));
                }
            }
        }
        assertEquals(3, cells);
        assertEquals("the P4 program has no meter 'egress_rate'", assertThrows(UnknownNameException.class,
                () -> info.encode(new Update(Update.Type.MODIFY, MeterCell.of("egress_rate", 1, 1, 1, 1, 1)))).getMessage());
    }

    @Test
    void everyRuleBeforeAndOfOpticalPacketSwitchesIsOneOfTheirPrograms() throws IOException {
        Set<String> tables = new TreeSet<>();
        for (LabelApp app : List.of(new LabelApp(Meshes.fair().build()), new LabelApp(Meshes.paced().build()))) {
            for (Node node : app.topology().nodes()) {
                ProgramInfo info = (node.program().equals("ops") ? Programs.ops() : Programs.edge()).info();
                for (Command command : app.onEvent(0, new Event.DeviceReady(node.device(), List.of()))) {
                    for (Update update : ((Command.Write) command).updates()) {
                        roundTrip(info, List.of(update.entry()));
                        tables.add(update.entry().table());
                    }
                }
            }
        }
        assertEquals(Set.of("agent", "aggregation", "edge_params", "fibre_params", "ingress_params", "ipv4_route", "label_route", "macroflow",
                "ops_params", "traffic_class", "train_queue", "train_weight", "voq", "xcp_output", "xcp_params"), tables);
    }

    @Test
    void entriesWithARangeAndAnOptionalFieldAreThoseOfTheirProgram() throws IOException {
        P4Info info = TextFormat.parse("""
                tables { preamble { id: 33554433 name: "I.access" alias: "access" } action_refs { id: 16777217 }
                  match_fields { id: 1 name: "l4_dst" bitwidth: 16 match_type: RANGE }
                  match_fields { id: 2 name: "vlan" bitwidth: 12 match_type: OPTIONAL } }
                actions { preamble { id: 16777217 name: "I.deny" alias: "deny" } }
                """, P4Info.class);
        TableEntry entry = TableEntry.in("access").match(Match.range("l4_dst", 1024, 2047)).exact("vlan", 5).priority(1).action("deny").build();
        ProgramInfo program = new ProgramInfo(info);
        roundTrip(program, List.of(entry));
        assertTrue(program.encode(entry).getMatch(1).hasOptional());
    }

    private static void roundTrip(ProgramInfo info, List<TableEntry> entries) {
        for (TableEntry entry : entries) {
            assertEquals(Optional.of(entry), info.decode(info.encode(entry)));
        }
    }

    @Test
    void unknownNamesAreRefusedByName() throws IOException {
        ProgramInfo info = Programs.edge().info();
        assertEquals("the P4 program has no table 'crossbar'",
                message(info, TableEntry.in("crossbar").exact("slot", 1).action("connect")));
        assertEquals("the P4 program has no action 'connect'",
                message(info, TableEntry.in("voq").action("connect")));
        assertEquals("the P4 program has no key field of table voq 'dest'",
                message(info, TableEntry.in("voq").exact("dest", 1).action("enqueue")));
        assertEquals("the P4 program has no parameter of action enqueue 'queue_number'",
                message(info, TableEntry.in("voq").action("enqueue").param("queue_number", 1)));
    }

    private static String message(ProgramInfo info, TableEntry.Builder entry) {
        return assertThrows(UnknownNameException.class, () -> info.encode(entry.build())).getMessage();
    }

    @Test
    void ternaryEntriesAreTranslatedToo() throws IOException {
        roundTrip(Programs.edge().info(), List.of(TableEntry.in("traffic_class").priority(7)
                .match(Match.ternary("dscp", 46, 63)).action("set_class").param("traffic_class", 1).build()));
    }

    @Test
    void packetMetadataFollowsTheProgram() throws IOException {
        ProgramInfo info = Programs.edge().info();
        PacketOut packet = info.packetOut(300, new byte[] {1});
        assertEquals(ByteStrings.of(300), packet.getMetadata(0).getValue());
        assertEquals(Optional.of(511), info.ingressPort(PacketIn.newBuilder().addMetadata(
                PacketMetadata.newBuilder().setMetadataId(1).setValue(ByteStrings.of(511))).build()));
        assertEquals(Optional.empty(), info.ingressPort(PacketIn.getDefaultInstance()));
        assertEquals(Optional.empty(), info.ingressPort(PacketIn.newBuilder().addMetadata(PacketMetadata.newBuilder()
                .setMetadataId(1).setValue(ByteString.copyFrom(new byte[9]))).build()));
    }

    @Test
    void byteStringsAreCanonical() {
        assertEquals(ByteString.copyFrom(new byte[] {0}), ByteStrings.of(0));
        assertEquals(ByteString.copyFrom(new byte[] {1, 0}), ByteStrings.of(256));
        assertEquals(8, ByteStrings.of(-1).size());
        for (long value : new long[] {0, 1, 255, 256, Long.MAX_VALUE, -1}) {
            assertEquals(value, ByteStrings.toLong(ByteStrings.of(value)));
        }
        assertEquals(5, ByteStrings.toLong(ByteString.copyFrom(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 5})));
        assertThrows(IllegalArgumentException.class,
                () -> ByteStrings.toLong(ByteString.copyFrom(new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 0})));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.ByteString;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import p4.config.v1.P4InfoOuterClass.Action;
import p4.config.v1.P4InfoOuterClass.ControllerPacketMetadata;
import p4.config.v1.P4InfoOuterClass.MatchField;
import p4.config.v1.P4InfoOuterClass.Meter;
import p4.config.v1.P4InfoOuterClass.P4Info;
import p4.config.v1.P4InfoOuterClass.Table;
import p4.v1.P4RuntimeOuterClass.FieldMatch;
import p4.v1.P4RuntimeOuterClass.MeterEntry;
import p4.v1.P4RuntimeOuterClass.PacketMetadata;
import p4.v1.P4RuntimeOuterClass;

/** A program's names and numbers, from its P4Info; translates entries and packet metadata between both. */
final class ProgramInfo {
    private static final String PACKET_IN = "packet_in";
    private static final String PACKET_OUT = "packet_out";
    private static final String INGRESS_PORT = "ingress_port";
    private static final String EGRESS_PORT = "egress_port";

    private final Map<String, Table> tablesByName = new HashMap<>();
    private final Map<Integer, Table> tablesById = new HashMap<>();
    private final Map<String, Action> actionsByName = new HashMap<>();
    private final Map<Integer, Action> actionsById = new HashMap<>();
    private final Map<String, Meter> metersByName = new HashMap<>();
    private final Map<String, ControllerPacketMetadata> packetHeaders = new HashMap<>();

    ProgramInfo(P4Info info) {
        for (Table table : info.getTablesList()) {
            tablesByName.put(table.getPreamble().getAlias(), table);
            tablesById.put(table.getPreamble().getId(), table);
        }
        for (Action action : info.getActionsList()) {
            actionsByName.put(action.getPreamble().getAlias(), action);
            actionsById.put(action.getPreamble().getId(), action);
        }
        for (Meter meter : info.getMetersList()) {
            metersByName.put(meter.getPreamble().getAlias(), meter);
        }
        for (ControllerPacketMetadata header : info.getControllerPacketMetadataList()) {
            packetHeaders.put(header.getPreamble().getName(), header);
        }
    }

    /** Translates a change; throws {@link UnknownNameException} if the program lacks one of its names. */
    P4RuntimeOuterClass.Update encode(Update update) {
        P4RuntimeOuterClass.Update.Builder encoded = P4RuntimeOuterClass.Update.newBuilder();
        if (MeterCell.is(update.entry())) {
            // A cell is always there: without rates it is green for all.
            encoded.setType(P4RuntimeOuterClass.Update.Type.MODIFY).getEntityBuilder()
                    .setMeterEntry(meterCell(update.entry(), update.type() != Update.Type.DELETE));
        } else {
            encoded.setType(typeOf(update)).getEntityBuilder().setTableEntry(encode(update.entry()));
        }
        return encoded.build();
    }

    private static P4RuntimeOuterClass.Update.Type typeOf(Update update) {
        return switch (update.type()) {
            case INSERT -> P4RuntimeOuterClass.Update.Type.INSERT;
            case MODIFY -> P4RuntimeOuterClass.Update.Type.MODIFY;
            case DELETE -> P4RuntimeOuterClass.Update.Type.DELETE;
        };
    }

    private MeterEntry meterCell(TableEntry cell, boolean hasRates) {
        MeterEntry.Builder encoded = MeterEntry.newBuilder()
                .setMeterId(known(metersByName.get(cell.table()), "meter", cell.table()).getPreamble().getId());
        encoded.getIndexBuilder().setIndex(cell.matchValue(MeterCell.INDEX).orElseThrow());
        if (hasRates) {
            Map<String, Long> rates = cell.params();
            encoded.getConfigBuilder().setCir(rates.get(MeterCell.COMMITTED_RATE)).setCburst(rates.get(MeterCell.COMMITTED_BURST))
                    .setPir(rates.get(MeterCell.PEAK_RATE)).setPburst(rates.get(MeterCell.PEAK_BURST));
        }
        return encoded.build();
    }

    /** Translates an entry; throws {@link UnknownNameException} if the program lacks one of its names. */
    P4RuntimeOuterClass.TableEntry encode(TableEntry entry) {
        Table table = known(tablesByName.get(entry.table()), "table", entry.table());
        P4RuntimeOuterClass.TableEntry.Builder encoded = P4RuntimeOuterClass.TableEntry.newBuilder()
                .setTableId(table.getPreamble().getId())
                .setPriority(entry.priority())
                .setIsDefaultAction(entry.isDefault());
        for (Match match : entry.matches()) {
            encoded.addMatch(encode(match, table));
        }
        encoded.getActionBuilder().setAction(encodeAction(entry));
        return encoded.build();
    }

    private P4RuntimeOuterClass.Action encodeAction(TableEntry entry) {
        Action action = known(actionsByName.get(entry.action()), "action", entry.action());
        P4RuntimeOuterClass.Action.Builder encoded =
                P4RuntimeOuterClass.Action.newBuilder().setActionId(action.getPreamble().getId());
        for (Map.Entry<String, Long> param : entry.params().entrySet()) {
            int id = action.getParamsList().stream().filter(p -> p.getName().equals(param.getKey())).findFirst()
                    .orElseThrow(() -> new UnknownNameException(
                            "parameter of action " + entry.action(), param.getKey())).getId();
            encoded.addParams(P4RuntimeOuterClass.Action.Param.newBuilder()
                    .setParamId(id).setValue(ByteStrings.of(param.getValue())));
        }
        return encoded.build();
    }

    private static FieldMatch encode(Match match, Table table) {
        MatchField known = table.getMatchFieldsList().stream().filter(field -> field.getName().equals(match.field())).findFirst()
                .orElseThrow(() -> new UnknownNameException(
                        "key field of table " + table.getPreamble().getAlias(), match.field()));
        FieldMatch.Builder encoded = FieldMatch.newBuilder().setFieldId(known.getId());
        ByteString value = ByteStrings.of(match.value());
        switch (match.kind()) {
            case EXACT -> {
                if (known.getMatchType() == MatchField.MatchType.OPTIONAL) {
                    encoded.getOptionalBuilder().setValue(value);
                } else {
                    encoded.getExactBuilder().setValue(value);
                }
            }
            case RANGE -> encoded.getRangeBuilder().setLow(value).setHigh(ByteStrings.of(match.detail()));
            case LPM -> encoded.getLpmBuilder().setValue(value).setPrefixLen((int) match.detail());
            case TERNARY -> encoded.getTernaryBuilder().setValue(value).setMask(ByteStrings.of(match.detail()));
        }
        return encoded.build();
    }

    /** Translates an entry that a switch sent; empty if it is of a form that this controller never writes. */
    Optional<TableEntry> decode(P4RuntimeOuterClass.TableEntry encoded) {
        Table table = tablesById.get(encoded.getTableId());
        Action action = actionsById.get(encoded.getAction().getAction().getActionId());
        if (table == null || action == null) {
            return Optional.empty();
        }
        TableEntry.Builder entry = TableEntry.in(table.getPreamble().getAlias())
                .priority(encoded.getPriority()).action(action.getPreamble().getAlias());
        try {
            for (FieldMatch match : encoded.getMatchList()) {
                Optional<Match> decoded = decode(match, table);
                if (decoded.isEmpty()) {
                    return Optional.empty();
                }
                entry.match(decoded.get());
            }
            for (P4RuntimeOuterClass.Action.Param param : encoded.getAction().getAction().getParamsList()) {
                String name = action.getParamsList().stream().filter(p -> p.getId() == param.getParamId())
                        .map(Action.Param::getName).findFirst().orElse("#" + param.getParamId());
                entry.param(name, ByteStrings.toLong(param.getValue()));
            }
        } catch (IllegalArgumentException wide) {
            return Optional.empty();
        }
        return Optional.of(entry.build());
    }

    private static Optional<Match> decode(FieldMatch match, Table table) {
        Optional<String> name = table.getMatchFieldsList().stream()
                .filter(field -> field.getId() == match.getFieldId()).map(MatchField::getName).findFirst();
        return name.flatMap(field -> switch (match.getFieldMatchTypeCase()) {
            case EXACT -> Optional.of(Match.exact(field, ByteStrings.toLong(match.getExact().getValue())));
            case LPM -> Optional.of(Match.lpm(field, ByteStrings.toLong(match.getLpm().getValue()),
                    match.getLpm().getPrefixLen()));
            case TERNARY -> Optional.of(Match.ternary(field, ByteStrings.toLong(match.getTernary().getValue()),
                    ByteStrings.toLong(match.getTernary().getMask())));
            case RANGE -> Optional.of(Match.range(field, ByteStrings.toLong(match.getRange().getLow()),
                    ByteStrings.toLong(match.getRange().getHigh())));
            case OPTIONAL -> Optional.of(Match.exact(field, ByteStrings.toLong(match.getOptional().getValue())));
            default -> Optional.empty();
        });
    }

    /** A packet for {@code port}, with all metadata that the program's packet_out header has. */
    P4RuntimeOuterClass.PacketOut packetOut(int port, byte[] frame) {
        P4RuntimeOuterClass.PacketOut.Builder packet =
                P4RuntimeOuterClass.PacketOut.newBuilder().setPayload(ByteString.copyFrom(frame));
        ControllerPacketMetadata header = known(packetHeaders.get(PACKET_OUT), "controller header", PACKET_OUT);
        for (ControllerPacketMetadata.Metadata field : header.getMetadataList()) {
            packet.addMetadata(PacketMetadata.newBuilder().setMetadataId(field.getId())
                    .setValue(ByteStrings.of(field.getName().equals(EGRESS_PORT) ? port : 0)));
        }
        return packet.build();
    }

    /** The ingress port of a packet; empty if it has none that makes sense. */
    Optional<Integer> ingressPort(P4RuntimeOuterClass.PacketIn packet) {
        ControllerPacketMetadata header = known(packetHeaders.get(PACKET_IN), "controller header", PACKET_IN);
        for (ControllerPacketMetadata.Metadata field : header.getMetadataList()) {
            if (field.getName().equals(INGRESS_PORT)) {
                return packet.getMetadataList().stream()
                        .filter(metadata -> metadata.getMetadataId() == field.getId() && metadata.getValue().size() <= 2)
                        .map(metadata -> (int) ByteStrings.toLong(metadata.getValue())).findFirst();
            }
        }
        return Optional.empty();
    }

    private static <T> T known(T found, String what, String name) {
        if (found == null) {
            throw new UnknownNameException(what, name);
        }
        return found;
    }
}

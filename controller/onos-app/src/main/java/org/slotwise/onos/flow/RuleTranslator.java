// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.onlab.util.ImmutableByteSequence;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.DeviceId;
import org.onosproject.net.flow.DefaultFlowRule;
import org.onosproject.net.flow.DefaultTrafficSelector;
import org.onosproject.net.flow.DefaultTrafficTreatment;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.IndexTableId;
import org.onosproject.net.flow.TableId;
import org.onosproject.net.flow.TrafficSelector;
import org.onosproject.net.flow.criteria.Criterion;
import org.onosproject.net.flow.criteria.PiCriterion;
import org.onosproject.net.flow.instructions.Instruction;
import org.onosproject.net.flow.instructions.PiInstruction;
import org.onosproject.net.pi.model.PiActionParamId;
import org.onosproject.net.pi.model.PiMatchFieldId;
import org.onosproject.net.pi.model.PiTableId;
import org.onosproject.net.pi.runtime.PiAction;
import org.onosproject.net.pi.runtime.PiActionParam;
import org.onosproject.net.pi.runtime.PiExactFieldMatch;
import org.onosproject.net.pi.runtime.PiFieldMatch;
import org.onosproject.net.pi.runtime.PiLpmFieldMatch;
import org.onosproject.net.pi.runtime.PiRangeFieldMatch;
import org.onosproject.net.pi.runtime.PiTableAction;
import org.onosproject.net.pi.runtime.PiTableEntry;
import org.onosproject.net.pi.runtime.PiTernaryFieldMatch;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;

/**
 * Translates the controller's table entries to ONOS's flow rules and back. Pure. A rule's identity in ONOS is its
 * table, key and priority, as an entry's is in a switch.
 */
public final class RuleTranslator {
    private final ApplicationId app;

    /** Takes the application that owns the rules. */
    public RuleTranslator(ApplicationId app) {
        this.app = app;
    }

    /** The rule for an entry; throws IllegalArgumentException if the program lacks one of its names. */
    public FlowRule rule(DeviceId device, TableEntry entry, ProgramNames names) {
        PiAction.Builder action = PiAction.builder().withId(names.action(entry.table(), entry.action()));
        for (Map.Entry<String, Long> param : entry.params().entrySet()) {
            action.withParameter(new PiActionParam(PiActionParamId.of(param.getKey()), (long) param.getValue()));
        }
        return DefaultFlowRule.builder().forDevice(device).forTable(names.table(entry.table())).fromApp(app)
                .makePermanent()
                // ONOS adds 1 on the way to P4Runtime where the table has priorities, and ignores it elsewhere.
                .withPriority(Math.max(0, entry.priority() - 1))
                .withSelector(selector(entry))
                .withTreatment(DefaultTrafficTreatment.builder().piTableAction(action.build()).build()).build();
    }

    private static TrafficSelector selector(TableEntry entry) {
        if (entry.isDefault()) {
            return DefaultTrafficSelector.emptySelector();
        }
        PiCriterion.Builder key = PiCriterion.builder();
        for (Match match : entry.matches()) {
            PiMatchFieldId field = PiMatchFieldId.of(match.field());
            switch (match.kind()) {
                case LPM:
                    key.matchLpm(field, match.value(), (int) match.detail());
                    break;
                case TERNARY:
                    key.matchTernary(field, match.value(), match.detail());
                    break;
                case RANGE:
                    key.matchRange(field, match.value(), match.detail());
                    break;
                default:
                    key.matchExact(field, match.value());
                    break;
            }
        }
        return DefaultTrafficSelector.builder().matchPi(key.build()).build();
    }

    /** The entry of a rule; empty if it is of a form that the controller never writes. */
    public static Optional<TableEntry> entry(FlowRule rule) {
        TableId table = rule.table();
        if (table instanceof IndexTableId) {
            return Optional.empty();
        }
        Criterion key = rule.selector().getCriterion(Criterion.Type.PROTOCOL_INDEPENDENT);
        return rule.treatment().allInstructions().stream()
                .filter(instruction -> instruction.type() == Instruction.Type.PROTOCOL_INDEPENDENT).findFirst()
                .flatMap(instruction -> entry(((PiTableId) table).id(),
                        key == null ? List.of() : ((PiCriterion) key).fieldMatches(),
                        ((PiInstruction) instruction).action(), 0));
    }

    /** What a switch has, as the controller knows it; empty if it is of a form that the controller never writes. */
    public static Optional<TableEntry> entry(PiTableEntry entry) {
        return entry(entry.table().id(), entry.matchKey().fieldMatches(), entry.action(),
                entry.priority().orElse(0));
    }

    private static Optional<TableEntry> entry(
            String table, Collection<PiFieldMatch> key, PiTableAction action, int priority) {
        if (!(action instanceof PiAction)) {
            return Optional.empty();
        }
        TableEntry.Builder entry = TableEntry.in(ProgramNames.shortName(table)).priority(priority)
                .action(ProgramNames.shortName(((PiAction) action).id().id()));
        try {
            for (PiFieldMatch field : key) {
                entry.match(match(field));
            }
            for (PiActionParam param : ((PiAction) action).parameters()) {
                entry.param(param.id().id(), number(param.value()));
            }
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
        return Optional.of(entry.build());
    }

    private static Match match(PiFieldMatch field) {
        String name = field.fieldId().id();
        if (field instanceof PiExactFieldMatch) {
            return Match.exact(name, number(((PiExactFieldMatch) field).value()));
        }
        if (field instanceof PiLpmFieldMatch) {
            PiLpmFieldMatch lpm = (PiLpmFieldMatch) field;
            return Match.lpm(name, number(lpm.value()), lpm.prefixLength());
        }
        if (field instanceof PiTernaryFieldMatch) {
            PiTernaryFieldMatch ternary = (PiTernaryFieldMatch) field;
            return Match.ternary(name, number(ternary.value()), number(ternary.mask()));
        }
        if (field instanceof PiRangeFieldMatch) {
            PiRangeFieldMatch range = (PiRangeFieldMatch) field;
            return Match.range(name, number(range.lowValue()), number(range.highValue()));
        }
        throw new IllegalArgumentException("unsupported match type " + field.type());
    }

    /** Bytes as an unsigned number; IllegalArgumentException above 64 bits. */
    private static long number(ImmutableByteSequence bytes) {
        byte[] digits = bytes.asArray();
        long number = 0;
        for (int i = 0; i < digits.length; i++) {
            if (i < digits.length - Long.BYTES && digits[i] != 0) {
                throw new IllegalArgumentException("value too large; expected at most 64 bits");
            }
            number = number << Byte.SIZE | digits[i] & 0xff;
        }
        return number;
    }
}

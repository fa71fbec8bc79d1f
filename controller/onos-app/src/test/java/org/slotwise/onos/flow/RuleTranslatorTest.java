// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.onlab.util.ImmutableByteSequence;
import org.onosproject.core.DefaultApplicationId;
import org.onosproject.net.DeviceId;
import org.onosproject.net.flow.DefaultFlowRule;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.criteria.Criterion;
import org.onosproject.net.flow.criteria.PiCriterion;
import org.onosproject.net.flow.instructions.PiInstruction;
import org.onosproject.net.pi.model.PiActionId;
import org.onosproject.net.pi.model.PiMatchFieldId;
import org.onosproject.net.pi.model.PiPipelineModel;
import org.onosproject.net.pi.model.PiTableId;
import org.onosproject.net.pi.model.PiTableModel;
import org.onosproject.net.pi.runtime.PiAction;
import org.onosproject.net.pi.runtime.PiExactFieldMatch;
import org.onosproject.net.pi.runtime.PiFieldMatch;
import org.onosproject.net.pi.runtime.PiMatchKey;
import org.onosproject.net.pi.runtime.PiTableEntry;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.onos.pipeline.Programs;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.tables.SwitchRules;

class RuleTranslatorTest {
    private static final DeviceId DEVICE = DeviceId.deviceId("device:slotwise:1");
    private static PiPipelineModel edge;
    private static PiPipelineModel core;

    private final RuleTranslator translator = new RuleTranslator(new DefaultApplicationId(7, "test"));

    @BeforeAll
    static void loadPrograms() throws Exception {
        edge = Programs.load("edge").pipelineModel();
        core = Programs.load("core").pipelineModel();
    }

    /** All that the controller ever writes to one switch, of every kind. */
    private static List<TableEntry> entriesOf(Network network, boolean coreSwitch) {
        SwitchRules rules = new SwitchRules(network);
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(network.edges().size(), network.dataSlots());
        schedule.connectIfFree(0, 0, 1);
        schedule.connectIfFree(1, 1, 0);
        List<TableEntry> entries = new ArrayList<>();
        if (coreSwitch) {
            entries.addAll(rules.fixedRules(network.core()));
            entries.addAll(rules.bankRules(network.core(), 1, schedule.build()));
        } else {
            for (Edge each : network.edges()) {
                entries.addAll(rules.fixedRules(each));
                entries.addAll(rules.bankRules(each, 1, schedule.build()));
            }
        }
        return entries;
    }

    private void checkAll(List<TableEntry> entries, PiPipelineModel program) {
        ProgramNames names = new ProgramNames(program);
        for (TableEntry entry : entries) {
            FlowRule rule = translator.rule(DEVICE, entry, names);
            assertEquals(Optional.of(entry), RuleTranslator.entry(rule));
            checkComplete(entry, rule, program);
        }
    }

    /** What ONOS's translator checks as well: all key fields or, for the default action, none; all parameters. */
    private static void checkComplete(TableEntry entry, FlowRule rule, PiPipelineModel program) {
        PiTableModel table = program.table((PiTableId) rule.table()).orElseThrow();
        Criterion key = rule.selector().getCriterion(Criterion.Type.PROTOCOL_INDEPENDENT);
        Set<PiMatchFieldId> fields = key == null ? Set.of() : ((PiCriterion) key).fieldMatches().stream()
                .map(PiFieldMatch::fieldId).collect(Collectors.toSet());
        Set<PiMatchFieldId> all = table.matchFields().stream().map(field -> field.id()).collect(Collectors.toSet());
        assertEquals(entry.isDefault() ? Set.of() : all, fields);
        PiAction action = (PiAction) ((PiInstruction) rule.treatment().allInstructions().get(0)).action();
        assertEquals(table.action(action.id()).orElseThrow().params().stream().map(param -> param.id())
                        .collect(Collectors.toSet()),
                action.parameters().stream().map(param -> param.id()).collect(Collectors.toSet()));
    }

    @Test
    void allThatTheControllerWritesBecomesRulesAndComesBack() {
        checkAll(entriesOf(Networks.withXcp(Networks.star(4, 20)), false), edge);
        checkAll(entriesOf(Networks.star(4, 20), true), core);
    }

    @Test
    void aRuleIsTheSameRuleWhateverItsAction() {
        ProgramNames names = new ProgramNames(edge);
        TableEntry.Builder slot = TableEntry.in("slot_schedule").exact("core", 0).exact("bank", 1).exact("slot", 7).action("grant");
        FlowRule first = translator.rule(DEVICE, slot.param("queue", 1).build(), names);
        FlowRule second = translator.rule(DEVICE, slot.param("queue", 2).build(), names);
        assertEquals(first, second);
        assertEquals(first.id(), second.id());
        assertNotEquals(first.treatment(), second.treatment());
    }

    @Test
    void ternaryKeysKeepTheirPriority() {
        TableEntry entry = TableEntry.in("traffic_class").match(Match.ternary("dscp", 46, 63)).priority(10)
                .action("set_class").param("class", 1).build();
        assertEquals(9, translator.rule(DEVICE, entry, new ProgramNames(edge)).priority());
    }

    @Test
    void namesThatTheProgramLacksAreRefusedByName() {
        ProgramNames names = new ProgramNames(core);
        TableEntry slot = TableEntry.in("slot_schedule").exact("core", 0).exact("bank", 1).action("grant").build();
        String reason = assertThrows(IllegalArgumentException.class,
                () -> translator.rule(DEVICE, slot, names)).getMessage();
        assertTrue(reason.contains("slot_schedule") || reason.contains("grant"), reason);
        TableEntry crossbar = TableEntry.in("crossbar").exact("bank", 1).action("grant").build();
        assertThrows(IllegalArgumentException.class, () -> translator.rule(DEVICE, crossbar, names));
    }

    @Test
    void entriesThatTheControllerNeverWritesAreLeftOut() {
        assertTrue(RuleTranslator.entry(DefaultFlowRule.builder().forDevice(DEVICE).forTable(0)
                .fromApp(new DefaultApplicationId(7, "test")).makePermanent().withPriority(1).build()).isEmpty());
        PiTableEntry wide = PiTableEntry.builder().forTable(PiTableId.of("A.t"))
                .withMatchKey(PiMatchKey.builder().addFieldMatch(new PiExactFieldMatch(
                        PiMatchFieldId.of("key"), ImmutableByteSequence.ofOnes(9))).build())
                .withAction(PiAction.builder().withId(PiActionId.of("A.act")).build()).build();
        assertTrue(RuleTranslator.entry(wide).isEmpty());
        PiTableEntry noAction = PiTableEntry.builder().forTable(PiTableId.of("A.t")).build();
        assertTrue(RuleTranslator.entry(noAction).isEmpty());
    }
}

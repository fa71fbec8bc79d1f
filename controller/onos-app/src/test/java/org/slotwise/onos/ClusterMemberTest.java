// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.onosproject.net.DeviceId;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.instructions.Instructions.OutputInstruction;
import org.onosproject.net.packet.OutboundPacket;
import org.slotwise.control.ManualThread;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.onos.flow.Fence;
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.onos.flow.RuleTranslator;
import org.slotwise.onos.flow.SwitchUnavailableException;
import org.slotwise.rest.ControllerService.UnavailableException;
import org.slotwise.systems.Systems;
import org.slotwise.systems.star.app.Phase;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.app.Statistics;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.rest.StarPart;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.WireConstants;

class ClusterMemberTest {
    private static final int TIMEOUT_MS = 1000;

    private final FakeOnos onos = new FakeOnos();
    private final ManualThread thread = new ManualThread();
    private final List<String> unreadable = new ArrayList<>();
    private int reads;
    private Executor readers = Runnable::run;
    private JsonNode example;
    private Network network;
    private long frame;
    private long arrived;
    private long active;
    private long next;

    @BeforeEach
    void readExample() throws IOException {
        example = FakeOnos.exampleNetwork();
        network = ((StarPart) FakeOnos.config(example).document().parts().get(StarApp.ID)).network();
    }

    private ClusterMember member() {
        FlowRuleSwitches switches = new FlowRuleSwitches(onos.devices, onos.flowRules, onos.packets, onos.programs,
                (device, program, rules) -> readFromSwitch(device), onos.meters, onos.otherMaster, FakeOnos.APP, readers, Runnable::run);
        return new ClusterMember(onos.services(), FakeOnos.APP, switches, thread, () -> 1000, onos.publisher, Systems.all());
    }

    private List<TableEntry> readFromSwitch(org.slotwise.control.topology.DeviceId device) {
        if (unreadable.contains(device.toString())) {
            throw new SwitchUnavailableException("device " + device + " does not answer");
        }
        reads++;
        List<TableEntry> entries = new ArrayList<>();
        for (FlowRule rule : onos.flowRules.of(SlotwiseDevices.onos(device))) {
            RuleTranslator.entry(rule).filter(entry -> !entry.isDefault()).ifPresent(entries::add);
        }
        return entries;
    }

    private ClusterMember joined() {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(example);
        return member;
    }

    private void connectAll() {
        onos.devices.set(onosId(network.core().device()), true);
        network.edges().forEach(edge -> onos.devices.set(onosId(edge.device()), true));
    }

    private static DeviceId onosId(org.slotwise.control.topology.DeviceId device) {
        return SlotwiseDevices.onos(device);
    }

    /**
     * A frame: the master announces what it was told to commit, what it announced comes in force, and all edges send
     * their requests; edge 1 has {@code backlog} bytes for edge 2. The tables of the version in force must not change.
     */
    private void runFrame(long backlog) {
        frame++;
        // Goes round, as edges count.
        arrived = (arrived + backlog) & 0xffff_ffffL;
        active = next;
        if (!onos.packets.sent.isEmpty()) {
            next = sentCommit().nextVersion();
        }
        Set<TableEntry> inForce = dataEntries(active & 1);
        for (Edge edge : network.edges()) {
            RequestMessage message = new RequestMessage(edge.id().value()).frame(frame).versions(active, next);
            if (edge.id().value() == 1) {
                message.backlog(2, backlog).arrived(2, arrived);
            }
            int port = edge == network.master() ? WireConstants.PORT_LINECARD : edge.fibre().port();
            onos.packets.receive(onosId(network.master().device()), port, message.encode());
        }
        thread.runTimers();
        assertEquals(inForce, dataEntries(active & 1), "the schedule in force was changed");
    }

    /** Entries of a bank's data slots, of all switches. */
    private Set<TableEntry> dataEntries(long bank) {
        return onos.flowRules.rules.values().stream().flatMap(Set::stream)
                .flatMap(rule -> RuleTranslator.entry(rule).stream())
                .filter(entry -> entry.matchValue("bank").orElse(-1) == bank
                        && entry.matchValue("slot").orElse(0) >= network.firstDataSlot())
                .collect(Collectors.toSet());
    }

    private CommitHeader sentCommit() {
        byte[] bytes = onos.packets.sent.get(onos.packets.sent.size() - 1).data().array();
        return CommitHeader.decode(bytes, ControlMessage.PAYLOAD).orElseThrow();
    }

    private Snapshot runUntilSteady(ClusterMember member, long backlog) {
        for (int i = 0; i < 20; i++) {
            runFrame(backlog);
        }
        Snapshot snapshot = member.view("star", Snapshot.class, TIMEOUT_MS);
        assertEquals(Phase.STEADY, snapshot.phase());
        assertEquals(active, snapshot.version().orElseThrow().value());
        return snapshot;
    }

    @Test
    void demandBecomesFlowRulesOfTheIdleBankAndACommit() {
        ClusterMember member = joined();
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        connectAll();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        int before = granted(runUntilSteady(member, 0));

        Snapshot snapshot = runUntilSteady(member, 6_000_000);

        assertTrue(granted(snapshot) > before, "demand got no more slots than none");
        Set<TableEntry> grants = new HashSet<>(dataEntries(active & 1));
        grants.removeIf(entry -> !entry.table().equals("slot_schedule") || entry.params().get("queue") != 2);
        assertTrue(grants.size() >= granted(snapshot), "slots were promised that no edge has");
        OutboundPacket commit = onos.packets.sent.get(0);
        assertEquals(onosId(network.master().device()), commit.sendThrough());
        OutputInstruction output = (OutputInstruction) commit.treatment().allInstructions().get(0);
        assertEquals(WireConstants.PORT_SELF, output.port().toLong());
    }

    /** Slots from edge 1 to edge 2. */
    private static int granted(Snapshot snapshot) {
        int slots = 0;
        for (int slot = 0; slot < snapshot.schedule().slots(); slot++) {
            slots += snapshot.schedule().output(slot, 1) == 2 ? 1 : 0;
        }
        return slots;
    }

    @Test
    void anotherNodeTakesOverWhatTheSwitchesHold() {
        ClusterMember first = joined();
        connectAll();
        FrameSchedule schedule = runUntilSteady(first, 6_000_000).schedule();

        onos.leadership.change(FakeOnos.OTHER);
        UnavailableException answer =
                assertThrows(UnavailableException.class, () -> first.view("star", Snapshot.class, TIMEOUT_MS));
        assertTrue(answer.getMessage().contains("other"), answer.getMessage());
        first.leave();

        onos.leadership.change(FakeOnos.LOCAL);
        ClusterMember second = joined();
        Set<TableEntry> inForce = dataEntries(active & 1);
        for (int i = 0; i < 3; i++) {
            runFrame(6_000_000);
        }
        assertEquals(schedule, second.view("star", Snapshot.class, TIMEOUT_MS).schedule());
        assertEquals(inForce, dataEntries(active & 1));
    }

    /** Requests that waited in ONOS while the leader before told a commit: they name the version that was in force then. */
    @Test
    void aLeaderDoesNotBelieveRequestsFromBeforeTheLastCommit() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        long before = frame;
        long old = active;
        runUntilSteady(member, 6_000_000);
        assertEquals(old + 1, active);
        Set<TableEntry> inForce = dataEntries(active & 1);
        onos.leadership.change(FakeOnos.OTHER);
        onos.leadership.change(FakeOnos.LOCAL);
        for (int i = 1; i <= 10; i++) {
            for (Edge edge : network.edges()) {
                onos.packets.receive(onosId(network.master().device()),
                        edge == network.master() ? WireConstants.PORT_LINECARD : edge.fibre().port(),
                        new RequestMessage(edge.id().value()).frame(before + i).versions(old, old).encode());
            }
            thread.runTimers();
        }
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        assertEquals(inForce, dataEntries(active & 1), "the schedule in force was changed");
        runUntilSteady(member, 0);
    }

    @Test
    void aCommitThatTheLeaderBeforeKeptAndDidNotSendIsSent() {
        ClusterMember member = joined();
        connectAll();
        onos.packets.losing = true;
        for (int i = 0; i < 5; i++) {
            runFrame(6_000_000);
        }
        long old = active;
        assertEquals(List.of(), onos.packets.sent);
        onos.packets.losing = false;
        onos.leadership.change(FakeOnos.OTHER);
        onos.leadership.change(FakeOnos.LOCAL);
        long deadlineNs = System.nanoTime() + 10 * Commits.REPEAT_NS;
        while (onos.packets.sent.isEmpty() && System.nanoTime() < deadlineNs) {
            runFrame(0);
        }
        assertEquals(old + 1, sentCommit().nextVersion());
        runUntilSteady(member, 6_000_000);
    }

    @Test
    void packetsOfAnotherNodesSwitchesAreHandedToTheLeader() {
        ClusterMember member = joined();
        connectAll();
        byte[] request = new RequestMessage(0).frame(7).versions(0, 0).encode();
        onos.leadership.change(FakeOnos.OTHER);
        assertTrue(onos.packets.receive(
                onosId(network.master().device()), WireConstants.PORT_LINECARD, request));
        assertEquals(1, onos.messages.toOther.size());

        onos.leadership.change(FakeOnos.LOCAL);
        onos.messages.subscribers.get(ClusterMember.PACKET_IN).accept(onos.messages.toOther.get(0));
        assertEquals(1, member.view("star", Snapshot.class, TIMEOUT_MS).statistics().get(Counter.REQUESTS_RECEIVED));
        assertThrows(IllegalArgumentException.class, () -> PacketInMessage.decode(new byte[3]));
    }

    @Test
    void packetsOfOthersAreLeftAlone() {
        joined();
        assertFalse(onos.packets.receive(DeviceId.deviceId("of:0000000000000001"), 1, new byte[64]));
        assertFalse(onos.packets.receive(DeviceId.deviceId("device:slotwise:x"), 1, new byte[64]));
    }

    @Test
    void aSwitchThatCannotBeReadIsReadAgain() {
        ClusterMember member = joined();
        unreadable.add(network.core().device().toString());
        connectAll();
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        thread.runTimers();
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        unreadable.clear();
        thread.runTimers();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aSwitchThatRefusesRulesIsReadAgain() {
        ClusterMember member = joined();
        DeviceId core = onosId(network.core().device());
        onos.flowRules.refusing.add(core);
        connectAll();
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        onos.flowRules.refusing.clear();
        thread.runTimers();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aLostCoreStopsScheduling() {
        ClusterMember member = joined();
        connectAll();
        onos.devices.set(onosId(network.core().device()), false);
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
        assertEquals(4, member.view("star", Snapshot.class, TIMEOUT_MS).readyDevices().size());
        onos.devices.set(onosId(network.core().device()), true);
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void rulesOfASwitchThatLostItsTablesAreForgotten() {
        ClusterMember member = joined();
        connectAll();
        DeviceId core = onosId(network.core().device());
        Set<FlowRule> fresh = Set.copyOf(onos.flowRules.of(core));
        runUntilSteady(member, 6_000_000);
        assertNotEquals(fresh, onos.flowRules.of(core));
        onos.devices.set(core, false);
        onos.flowRules.loseTables(core);
        onos.devices.set(core, true);
        assertEquals(fresh, onos.flowRules.of(core));
        assertEquals(fresh, onos.flowRules.stored(core));
    }

    @Test
    void aBatchOfRulesAsksOnceForTheProgram() {
        ClusterMember member = joined();
        connectAll();
        Statistics before = member.view("star", Snapshot.class, TIMEOUT_MS).statistics();
        onos.programs.lookups = 0;
        Statistics after = runUntilSteady(member, 6_000_000).statistics();
        assertTrue(after.get(Counter.WRITE_UPDATES) > before.get(Counter.WRITE_UPDATES));
        assertEquals(after.get(Counter.WRITE_BATCHES) - before.get(Counter.WRITE_BATCHES), onos.programs.lookups);
    }

    @Test
    void aChosenSchedulerOutlivesTheNodeUntilTheConfigurationChanges() throws Exception {
        ClusterMember member = joined();
        member.resources(() -> TIMEOUT_MS).get(0).change("scheduler", new ObjectMapper().readTree("{\"name\": \"islip\"}"));
        assertEquals("islip", member.view("star", Snapshot.class, TIMEOUT_MS).scheduler().title());
        member.leave();
        ClusterMember second = joined();
        assertEquals("islip", second.view("star", Snapshot.class, TIMEOUT_MS).scheduler().title());

        ObjectNode changed = example.deepCopy();
        changed.putObject("scheduler").put("name", "rotation");
        onos.configuration.set(changed);
        assertEquals("rotation", second.view("star", Snapshot.class, TIMEOUT_MS).scheduler().title());
    }

    // ---- when the cluster does not agree, or somebody else leads ----

    private String unavailable(ClusterMember member) {
        return assertThrows(UnavailableException.class, () -> member.view("star", Snapshot.class, TIMEOUT_MS)).getMessage();
    }

    private Map<DeviceId, Set<FlowRule>> allRules() {
        Map<DeviceId, Set<FlowRule>> copy = new HashMap<>();
        onos.flowRules.rules.forEach((device, rules) -> copy.put(device, Set.copyOf(rules)));
        return copy;
    }

    @Test
    void aWriteThatTheClusterDoesNotLetThroughIsTriedAgainAndTheControllerGoesOn() {
        ClusterMember member = joined();
        connectAll();
        long before = runUntilSteady(member, 0).version().orElseThrow().value();
        onos.programs.failing = true;
        for (int i = 0; i < 5; i++) {
            runFrame(6_000_000);
        }
        Snapshot waiting = member.view("star", Snapshot.class, TIMEOUT_MS);
        assertEquals(Phase.WRITING, waiting.phase());
        onos.programs.failing = false;
        Snapshot after = runUntilSteady(member, 6_000_000);
        assertTrue(after.version().orElseThrow().value() > before, "no schedule came in force any more");
        assertEquals(0, after.statistics().get(Counter.WRITE_FAILURES));
    }

    @Test
    void whatAtomixThrowsIsNoFailedWriteEither() {
        ClusterMember member = joined();
        connectAll();
        long before = runUntilSteady(member, 0).version().orElseThrow().value();
        onos.programs.failure = new IllegalStateException("the session is unknown");
        onos.storage.failure = onos.programs.failure;
        onos.programs.failing = true;
        for (int i = 0; i < 5; i++) {
            runFrame(6_000_000);
        }
        onos.storage.failing = true;
        onos.programs.failing = false;
        for (int i = 0; i < 5; i++) {
            runFrame(6_000_000);
        }
        assertTrue(unavailable(member).contains("leadership of this node unknown"));
        onos.storage.failing = false;
        Snapshot after = runUntilSteady(member, 6_000_000);
        assertTrue(after.version().orElseThrow().value() > before, "no schedule came in force any more");
        assertEquals(0, after.statistics().get(Counter.WRITE_FAILURES));
    }

    @Test
    void switchesAreNotReadOrWrittenWhileTheTermCannotBeCompared() {
        ClusterMember member = joined();
        onos.storage.failing = true;
        connectAll();
        assertTrue(unavailable(member).contains("leadership of this node unknown"));
        assertTrue(onos.flowRules.rules.isEmpty());
        onos.storage.failing = false;
        thread.runTimers();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aFormerLeaderThatDoesNotKnowItChangesNothing() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        Map<DeviceId, Set<FlowRule>> before = allRules();
        new LeaderTerms(onos.storage, "other").begin(2);
        for (int i = 0; i < ClusterMember.BELIEVED_REFUSALS / 2; i++) {
            runFrame(6_000_000);
        }
        assertEquals(before, allRules());
        assertTrue(unavailable(member).contains("takeover in progress"));
        onos.leadership.change(FakeOnos.OTHER);
        onos.leadership.change(FakeOnos.LOCAL);
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aFormerLeaderThatWasCutOffAsksWhoLeadsAndDoesNotTakeOverAgain() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        Map<DeviceId, Set<FlowRule>> before = allRules();
        onos.leadership.changeWithoutThisNode(FakeOnos.OTHER);
        new LeaderTerms(onos.storage, "other").begin(2);
        for (int i = 0; i < 2 * ClusterMember.BELIEVED_REFUSALS; i++) {
            runFrame(6_000_000);
        }
        assertEquals(before, allRules());
        new LeaderTerms(onos.storage, "other").check(2);
        assertEquals(Optional.of("192.0.2.7"), member.remoteLeader());
    }

    /** Its own part of the storage tells it that its term is in force, and the others may have begun another one. */
    @Test
    void aLeaderThatIsCutOffWritesAndTellsAndShowsNothing() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        Map<DeviceId, Set<FlowRule>> before = allRules();
        int sent = onos.packets.sent.size();
        onos.storage.cutOff = true;
        for (int i = 0; i < 10; i++) {
            runFrame(6_000_000);
        }
        assertEquals(before, allRules());
        assertEquals(sent, onos.packets.sent.size());
        assertTrue(unavailable(member).contains("leadership of this node unknown"));
        onos.storage.cutOff = false;
        runUntilSteady(member, 6_000_000);
        assertNotEquals(before, allRules());
    }

    @Test
    void aNodeThatNeverHearsThatItLeadsAsksAndTakesOver() {
        onos.leadership.change(FakeOnos.OTHER);
        ClusterMember member = joined();
        connectAll();
        onos.leadership.changeWithoutThisNode(FakeOnos.LOCAL);
        thread.runTimers();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aFormerLeaderThatDoesNotKnowItShowsNothing() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        new LeaderTerms(onos.storage, "other").begin(2);
        assertTrue(unavailable(member).contains("no longer the leader"));
    }

    @Test
    void twoNodesDoNotLeadInTheSameTerm() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        assertThrows(Fence.SupersededException.class, () -> new LeaderTerms(onos.storage, "other").begin(1));
        runUntilSteady(member, 6_000_000);
        new LeaderTerms(onos.storage, "other").beginAnew(1);
        Map<DeviceId, Set<FlowRule>> before = allRules();
        for (int i = 0; i < ClusterMember.BELIEVED_REFUSALS / 2; i++) {
            runFrame(0);
        }
        assertEquals(before, allRules());
        assertTrue(unavailable(member).contains("takeover in progress"));
    }

    @Test
    void aLeaderOfAClusterThatCountsTermsAnewIsBelievedInTheEnd() {
        new LeaderTerms(onos.storage, "other").begin(1_000);
        ClusterMember member = joined();
        assertTrue(unavailable(member).contains("takeover in progress"));
        for (int i = 0; i < ClusterMember.BELIEVED_REFUSALS; i++) {
            thread.runTimers();
        }
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aBatchOfAnOlderTermOfThisNodeArrivesBeforeItsSwitchIsReadAnew() {
        ClusterMember member = joined();
        connectAll();
        runUntilSteady(member, 0);
        onos.flowRules.held = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            runFrame(6_000_000);
        }
        int underWay = onos.flowRules.held.size();
        assertTrue(underWay > 0, "nothing was written");
        Map<DeviceId, Set<FlowRule>> before = allRules();
        reads = 0;
        onos.leadership.change(FakeOnos.OTHER);
        onos.leadership.change(FakeOnos.LOCAL);
        assertEquals(before, allRules());
        assertEquals(network.devices().size() - underWay, reads);
        onos.flowRules.release();
        assertNotEquals(before, allRules());
        assertEquals(2 * network.devices().size(), reads, "each before and after a write that waits for those under way");
        runUntilSteady(member, 6_000_000);
    }

    @Test
    void aTakeoverThatFailsIsTriedAgain() {
        onos.leadership.change(FakeOnos.OTHER);
        ClusterMember member = joined();
        onos.storage.failing = true;
        onos.leadership.change(FakeOnos.LOCAL);
        assertTrue(unavailable(member).contains("takeover in progress"));
        thread.runTimers();
        assertTrue(unavailable(member).contains("takeover in progress"));
        onos.storage.failing = false;
        thread.runTimers();
        assertEquals(Phase.WAITING_FOR_DEVICES, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aCandidateThatTheClusterForgotRunsAgain() {
        onos.leadership.change(FakeOnos.OTHER);
        ClusterMember member = joined();
        connectAll();
        onos.leadership.candidate.clear();
        thread.runTimers();
        assertEquals(Set.of(ClusterMember.LEADERSHIP_TOPIC), onos.leadership.candidate);
        onos.leadership.changeSilently(FakeOnos.LOCAL);
        thread.runTimers();
        assertEquals(Phase.LEARNING, member.view("star", Snapshot.class, TIMEOUT_MS).phase());
    }

    @Test
    void aLeaderThatLostTheClusterShowsNoOldState() {
        ClusterMember member = joined();
        member.view("star", Snapshot.class, TIMEOUT_MS);
        onos.leadership.changeSilently(null);
        assertTrue(unavailable(member).contains("no leader elected"));
        assertEquals(Optional.empty(), member.remoteLeader());
        onos.leadership.changeSilently(FakeOnos.OTHER);
        assertTrue(unavailable(member).contains("other"));
        assertEquals(Optional.of("192.0.2.7"), member.remoteLeader());
    }

    @Test
    void whatWasUnderWayWhenTheAppEndedIsNotWritten() {
        List<Runnable> waiting = new ArrayList<>();
        readers = waiting::add;
        ClusterMember member = joined();
        connectAll();
        assertEquals(network.devices().size(), waiting.size());
        member.leave();
        waiting.forEach(Runnable::run);
        thread.runTimers();
        assertTrue(onos.flowRules.rules.isEmpty());
        assertTrue(onos.packets.sent.isEmpty());
    }

    @Test
    void whoCannotJoinLeavesNothingBehind() {
        onos.packets.refusing = true;
        assertThrows(IllegalStateException.class, () -> member().join());
        assertTrue(onos.devices.listeners.isEmpty());
        assertTrue(onos.configuration.listeners.isEmpty());
        assertTrue(onos.leadership.listeners.isEmpty());
        assertTrue(onos.leadership.candidate.isEmpty());
        assertEquals(0, onos.configuration.factories);
    }

    @Test
    void withoutANetworkThereIsNoController() {
        ClusterMember member = member();
        member.join();
        String reason = assertThrows(UnavailableException.class, () -> member.view("star", Snapshot.class, TIMEOUT_MS)).getMessage();
        assertTrue(reason.contains("apps/org.slotwise.app/network"), reason);
        onos.configuration.set(example);
        member.view("star", Snapshot.class, TIMEOUT_MS);
        onos.configuration.set(null);
        assertThrows(UnavailableException.class, () -> member.view("star", Snapshot.class, TIMEOUT_MS));
    }

    @Test
    void leavingForgetsNoListenerAndLeavesTheTables() {
        ClusterMember member = joined();
        connectAll();
        member.leave();
        assertTrue(onos.devices.listeners.isEmpty());
        assertTrue(onos.configuration.listeners.isEmpty());
        assertTrue(onos.leadership.listeners.isEmpty());
        assertTrue(onos.packets.processors.isEmpty());
        assertTrue(onos.messages.subscribers.isEmpty());
        assertTrue(onos.leadership.candidate.isEmpty());
        assertEquals(0, onos.configuration.factories);
        assertTrue(onos.flowRules.inTable(onosId(network.core().device()), "crossbar") > 0);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.onosproject.net.DeviceId;
import org.onosproject.net.config.ConfigFactory;
import org.onosproject.net.config.InvalidFieldException;
import org.slotwise.control.Event;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.rest.system.SystemKinds;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.system.toy.ToySystem;
import org.slotwise.control.ManualThread;
import org.slotwise.control.tables.Update;
import org.slotwise.onos.api.SlotwiseEvent;
import org.slotwise.onos.flow.FlowRuleSwitches;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.ControllerService.UnavailableException;
import org.slotwise.systems.Systems;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.wire.RingClass;

/** Several applications on one node, and what ONOS's topology shows of them. */
class ClusterMemberAppsTest {
    private static final int TIMEOUT_MS = 1000;

    private final FakeOnos onos = new FakeOnos();
    private final ManualThread thread = new ManualThread();

    private ClusterMember member() {
        return member(Systems.all());
    }

    private ClusterMember member(SystemKinds kinds) {
        FlowRuleSwitches switches = new FlowRuleSwitches(onos.devices, onos.flowRules, onos.packets, onos.programs,
                (device, program, rules) -> List.of(), onos.meters, onos.otherMaster, FakeOnos.APP, Runnable::run, Runnable::run);
        return new ClusterMember(onos.services(), FakeOnos.APP, switches, thread, () -> 1000, onos.publisher, kinds);
    }

    private static JsonNode part(String app) throws IOException {
        return new ObjectMapper().readTree(Path.of("../../schema/examples/network-mixed.json").toFile()).at("/apps/" + app);
    }

    /** ONOS goes on telling a node that was cut off that it leads, in a term of before. */
    @Test
    void whoLeadsByOldNewsIsNotBelievedWhileTheLeaderWrites() throws IOException {
        LeaderTerms other = new LeaderTerms(onos.storage, "other");
        other.begin(1_000);
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.First(), part("star"));
        for (int i = 0; i < 2 * ClusterMember.BELIEVED_REFUSALS; i++) {
            other.check(1_000);
            thread.runTimers();
        }
        assertThrows(ControllerService.UnavailableException.class, member::apps);
        for (int i = 0; i < ClusterMember.BELIEVED_REFUSALS; i++) {
            thread.runTimers();
        }
        assertEquals(List.of("star"), member.apps());
    }

    @Test
    void applicationsAreConfiguredByTheirOwnKeys() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.First(), part("star"));
        assertEquals(List.of("star"), member.apps());
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        assertEquals(List.of("star", "routes"), member.apps());
        assertEquals(6, onos.published.get(1).nodes().size());
        assertEquals(List.of("STARTED star", "ENDED star", "STARTED star", "STARTED routes"), onos.events.stream()
                .map(event -> event.type() + " " + event.subject()).collect(Collectors.toList()));
        onos.configuration.set(new SlotwiseConfig.First(), null);
        assertEquals(List.of("routes"), member.apps());
        assertThrows(ControllerService.NoSuchApplicationException.class, () -> member.view("star", Snapshot.class, TIMEOUT_MS));
    }

    @Test
    void whatDoesNotGoTogetherLeavesAloneWhatRuns() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.First(), part("star"));
        ObjectNode routes = (ObjectNode) part("routes");
        ((ObjectNode) routes.at("/nodes/0")).put("device_id", 1001);
        ((ObjectNode) routes.at("/nodes/1/ports/0/peer")).put("device_id", 1001);
        ((ObjectNode) routes.at("/nodes/2/ports/0/peer")).put("device_id", 1001);
        onos.configuration.set(new SlotwiseConfig.Second(), routes);
        assertEquals(List.of("star"), member.apps());
        assertEquals(List.of("STARTED star"), onos.events.stream()
                .map(event -> event.type() + " " + event.subject()).collect(Collectors.toList()));
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        assertEquals(List.of("star", "routes"), member.apps());
    }

    @Test
    void portsThatWereDarkBeforeAreTold() throws IOException {
        onos.devices.set(DeviceId.deviceId("device:slotwise:2002"), true);
        onos.devices.setPort(DeviceId.deviceId("device:slotwise:2002"), 2, false);
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        thread.runTimers();
        assertEquals(1, member.view("routes", RoutesView.class, TIMEOUT_MS).reroutes());
    }

    @Test
    void linksAreShownAgainWhenASwitchHasCome() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.devices.set(DeviceId.deviceId("device:slotwise:2002"), true);
        assertEquals(0, onos.published.size(), "nothing is configured");
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        assertEquals(1, onos.published.size());
        onos.devices.set(DeviceId.deviceId("device:slotwise:2001"), true);
        assertEquals(2, onos.published.size());
        assertEquals(onos.published.get(0).links().size(), onos.published.get(1).links().size());
    }

    @Test
    void routersGetTheirTablesAndOtherOnesWhenAPortIsDown() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        for (long device = 2001; device <= 2003; device++) {
            onos.devices.set(DeviceId.deviceId("device:slotwise:" + device), true);
        }
        assertTrue(member.view("routes", RoutesView.class, TIMEOUT_MS).isConfigured());
        DeviceId second = DeviceId.deviceId("device:slotwise:2002");
        onos.devices.setPort(second, 2, false);
        thread.runTimers();
        assertEquals(1, member.view("routes", RoutesView.class, TIMEOUT_MS).reroutes());
        assertEquals("REROUTED", onos.events.get(onos.events.size() - 1).type().name());
        onos.devices.setPort(second, 2, true);
        thread.runTimers();
        assertEquals(2, member.view("routes", RoutesView.class, TIMEOUT_MS).reroutes());
    }

    @Test
    void aRingRunsBesidesAndItsStationsGetTablesAndMeters() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        JsonNode ring = new ObjectMapper().readTree(Path.of("../../schema/examples/network-ring.json").toFile()).at("/apps/ring");
        onos.configuration.set(new SlotwiseConfig.Third(), ring);
        assertEquals(List.of("routes", "ring"), member.apps());
        for (int station = 0; station < 4; station++) {
            onos.devices.set(station(station), true);
        }
        assertTrue(member.view("ring", RingView.class, TIMEOUT_MS).isConfigured());
        assertEquals(3, onos.flowRules.inTable(station(0), "ring_way"));
        assertEquals(2, onos.flowRules.inTable(station(0), "traffic_class"));
        assertEquals(3, onos.metered.get(Rings.device(0)).size(), "of one host, each class that it may ask for");
        onos.metered.clear();

        onos.devices.setPort(station(1), 256, false);
        thread.runTimers();
        assertEquals(1, member.view("ring", RingView.class, TIMEOUT_MS).counts().reroutes());
        assertEquals("REROUTED ring", onos.events.get(onos.events.size() - 1).type() + " " + onos.events.get(onos.events.size() - 1).subject());
        assertEquals(0, onos.metered.size(), "only what changes is written");

        member.order("ring", Event.Call.of((FairnessApp app) -> app.setWeight(Rings.device(2), 5)), TIMEOUT_MS);
        assertEquals(5, member.view("ring", RingView.class, TIMEOUT_MS).stations().get(2).settings().weight());
        assertThrows(ControllerService.NoSuchApplicationException.class, () -> member.view("star", Snapshot.class, TIMEOUT_MS));
        onos.configuration.set(new SlotwiseConfig.Third(), null);
        assertThrows(ControllerService.NoSuchApplicationException.class, () -> member.view("ring", RingView.class, TIMEOUT_MS));
    }

    @Test
    void whatWasChosenHoldsOnTheNextLeaderUntilItIsTakenBack() throws Exception {
        JsonNode lambda = new ObjectMapper().readTree(Path.of("../../schema/examples/network-lambda.json").toFile()).at("/apps/lambda");
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Fifth(), lambda);
        int configured = sessions(member).size();
        change(member, "film", "{\"source\": \"ucsd-0\", \"sink\": \"uva-0\", \"wanted_bps\": 1000000}");
        change(member, "game", "{\"source\": \"ucsd-0\", \"sink\": \"uva-0\", \"weight\": 2}");
        lambda(member).delete("sessions/game");
        member.leave();

        ClusterMember next = member();
        next.join();
        assertEquals(configured + 1, sessions(next).size());
        assertTrue(sessions(next).toString().contains("\"film\""));
        lambda(next).delete("sessions/film");
        next.leave();

        ClusterMember last = member();
        last.join();
        assertEquals(configured, sessions(last).size());
    }

    @Test
    void whatCannotBeKeptIsNotTaken() throws Exception {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Fifth(),
                new ObjectMapper().readTree(Path.of("../../schema/examples/network-lambda.json").toFile()).at("/apps/lambda"));
        JsonNode before = sessions(member);
        onos.storage.failing = true;
        assertThrows(UnavailableException.class,
                () -> change(member, "film", "{\"source\": \"ucsd-0\", \"sink\": \"uva-0\"}"));
        onos.storage.failing = false;
        assertEquals(before, sessions(member));
    }

    private static SystemResources<?> lambda(ClusterMember member) {
        return member.resources(() -> TIMEOUT_MS).get(0);
    }

    private static JsonNode sessions(ClusterMember member) {
        return lambda(member).reads().get("sessions").get().at("/sessions");
    }

    private static void change(ClusterMember member, String session, String body) throws Exception {
        lambda(member).change("sessions/" + session, new ObjectMapper().readTree(body));
    }

    @Test
    void aRateAloneIsWrittenWithoutFlowRulesAndAllIsWrittenAgainIfItIsRefused() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Third(),
                new ObjectMapper().readTree(Path.of("../../schema/examples/network-ring.json").toFile()).at("/apps/ring"));
        for (int station = 0; station < 4; station++) {
            onos.devices.set(station(station), true);
        }
        assertTrue(member.view("ring", RingView.class, TIMEOUT_MS).isConfigured());
        onos.metered.clear();
        onos.flowRules.refusing.add(station(0));
        member.order("ring", rates(4_000_000), TIMEOUT_MS);
        assertEquals(List.of("MODIFY ingress_rate[index=7] -> meter rates{cburst=5000, cir=500000, pburst=5000, pir=500000}"), metered());

        onos.flowRules.refusing.clear();
        onos.metered.clear();
        onos.refusedCells = 1;
        member.order("ring", rates(8_000_000), TIMEOUT_MS);
        thread.runTimers();
        String next = "ingress_rate[index=7] -> meter rates{cburst=10000, cir=1000000, pburst=10000, pir=1000000}";
        assertEquals(4, metered().size(), "the cell, and all three of the port after the switch was read");
        assertEquals(List.of("MODIFY " + next, "INSERT " + next), List.of(metered().get(0), metered().get(3)));
        assertTrue(member.view("ring", RingView.class, TIMEOUT_MS).isConfigured());
    }

    private List<String> metered() {
        return onos.metered.get(Rings.device(0)).stream().map(Update::toString).collect(Collectors.toList());
    }

    /** The classes of station 0 in the example, but for the rate of the reserved one. */
    private static Event.Order rates(long reservedBps) {
        return Event.Call.of((FairnessApp ring) -> ring.setClasses(Rings.of(4).build().stations().get(0), List.of(
                new TrafficRule(1, 46, RingClass.RESERVED, reservedBps), new TrafficRule(1, 10, RingClass.COMMITTED, 5_000_000))));
    }

    private static DeviceId station(int number) {
        return DeviceId.deviceId("device:slotwise:" + (3001 + number));
    }

    @Test
    void linksAreTakenAwayWithTheConfigurationAndLeftToWhoeverLeadsNext() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        onos.shown.clear();
        onos.configuration.set(new SlotwiseConfig.Second(), null);
        assertEquals(List.of("withdrawn"), onos.shown);
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        onos.shown.clear();
        onos.leadership.change(FakeOnos.OTHER);
        assertEquals(List.of("left"), onos.shown);
        onos.leadership.change(FakeOnos.LOCAL);
        onos.shown.clear();
        member.leave();
        assertEquals(List.of("withdrawn"), onos.shown);
        assertTrue(onos.leadership.candidate.isEmpty());
    }

    @Test
    void aCapacityIsTakenByTheLeaderOnlyAndOnlyWhileItRuns() throws IOException {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        SwitchPort output = new SwitchPort(org.slotwise.control.topology.DeviceId.of(2001), 2);
        Event.Order choice = Event.Call.of((RoutesApp routes) -> routes.setCapacity(output, 5_000_000));
        member.order("routes", choice, TIMEOUT_MS);
        assertEquals(5_000_000L, member.view("routes", RoutesView.class, TIMEOUT_MS).routers().get(output.device()).xcpBps().get(2));
        new LeaderTerms(onos.storage, "other").begin(2);
        assertThrows(UnavailableException.class, () -> member.order("routes", choice, TIMEOUT_MS), "another node's term has begun");
    }

    /** A choice of a star that all nodes share is that of a scheduler alone. */
    @Test
    void mastersCannotBeShutDownHereAndTheResourceSaysSo() throws Exception {
        ClusterMember member = member();
        member.join();
        onos.configuration.set(new ObjectMapper().readTree(Path.of("../../schema/examples/network-star4-twin.json").toFile()));
        SystemResources<?> star = member.resources(() -> TIMEOUT_MS).get(0);
        assertEquals(List.of("scheduler"), star.reads().keySet().stream().filter(star::canChange).collect(Collectors.toList()));
        assertTrue(star.reads().containsKey("shutdown"));
    }

    /** What {@code ToySystemTest} shows of the standalone controller, by the same door. */
    @Test
    void anApplicationThatOnlyTheListNamesRunsInOnosToo() throws Exception {
        ClusterMember member = member(Systems.all().and(new ToySystem()));
        member.join();
        ObjectNode part = new ObjectMapper().createObjectNode().put("device_id", 5001).put("level", 3);
        onos.configuration.set(new SlotwiseConfig.Second(), part("routes"));
        onos.configuration.set(new SlotwiseConfig.Seventh(), part);
        assertEquals(List.of("routes", "toy"), member.apps());
        SystemResources<?> toy = member.resources(() -> TIMEOUT_MS).get(1);
        assertEquals("{\"level\":7}", toy.change("level", part.deepCopy().removeAll().put("level", 7)).toString());
        assertEquals("{\"level\":7}", toy.reads().get("level").get().toString());
        assertEquals("OTHER toy: the level is 7 now", onos.events.stream().filter(event -> event.type() == SlotwiseEvent.Type.OTHER)
                .map(event -> event.type() + " " + event.subject() + ": " + event.detail()).collect(Collectors.joining()));
        assertEquals(7, toy.metrics().get(0).points().get(0).value());
    }

    /** ONOS asks each configuration whether it is valid before anybody is told of it. */
    @Test
    void whatAnApplicationRefusesIsRefusedByOnosAtItsPlace() throws Exception {
        SystemKinds kinds = Systems.all().and(new ToySystem());
        NetworkConfigs configs = new NetworkConfigs(onos.configuration, FakeOnos.APP, kinds);
        List<String> keys = configs.factories().stream().map(ConfigFactory::configKey).collect(Collectors.toList());
        assertEquals("network", keys.get(0));
        assertEquals(List.copyOf(kinds.all().keySet()), keys.subList(1, keys.size()));
        SlotwiseConfig config = configs.factories().get(keys.indexOf("toy")).createConfig();
        config.init(FakeOnos.APP, "toy", new ObjectMapper().readTree("{\"device_id\": 5001, \"level\": 10}"), new ObjectMapper(), ignored -> { });
        String reason = assertThrows(InvalidFieldException.class, config::isValid).getMessage();
        assertTrue(reason.contains("apps.toy.level: expected an integer 0 .. 9, got 10"), reason);
    }
}

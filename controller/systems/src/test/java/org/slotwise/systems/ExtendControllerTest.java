// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.Ownership;
import org.slotwise.control.TableApp;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.TableMirror;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.page.RunningApps;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.rest.RoutesSystem;

/** Examples of docs/extend-controller.md. */
class ExtendControllerTest {
    private static final DeviceId ROUTER = DeviceId.of(2001);

    @Test
    void aSettingIsChangedAndStored() throws Exception {
        JsonNode network = RunningApps.example("network-routers.json").at("/apps/routes");
        TreeMap<String, String> store = new TreeMap<>();
        OneSystem<RoutesView> one = new OneSystem<>(new RoutesSystem().read("", network), store);
        one.resources().change("capacities/2001/1", JsonFields.parse("{\"xcp_bps\": 5000000}".getBytes(UTF_8)));
        assertEquals(5_000_000, one.resources().read("capacities/2001/1").get("xcp_bps").asLong());

        OneSystem<RoutesView> restarted = new OneSystem<>(new RoutesSystem().read("", network), store);
        assertEquals(5_000_000, restarted.resources().read("capacities/2001/1").get("xcp_bps").asLong());
    }

    /** Router that sends all packets to one port. */
    static final class AllToOnePort extends TableApp<KeptSwitch, Integer> {
        private int port;

        AllToOnePort(Topology topology, DeviceId router, int port) {
            super("mine", topology, Ownership.tablesOf(List.of(router), List.of("ipv4_route")));
            this.port = port;
            add(new KeptSwitch(router));
        }

        void setPort(int newPort) {
            port = newPort;
            states().forEach(KeptSwitch::change);
        }

        @Override
        protected List<Update> changes(KeptSwitch router) {
            return router.changesTo(List.of(TableEntry.in("ipv4_route").match(Match.lpm("dst", 0, 0))
                    .action("to_port").param("port", port).param("mac", 2).build()));
        }

        @Override
        public Integer view() {
            return port;
        }
    }

    @Test
    void theTableHasTheNewPort() {
        Topology topology = new Topology.Builder().node(new Node(ROUTER, "mine", "router")).build();
        AllToOnePort app = new AllToOnePort(topology, ROUTER, 3);
        TableMirror table = new TableMirror();
        deliver(app, table, new Event.DeviceReady(ROUTER, List.of()));
        assertTrue(app.isConfigured());
        deliver(app, table, Event.Call.of((AllToOnePort router) -> router.setPort(4)));
        assertEquals(4, table.entries(entry -> true).get(0).params().get("port"));
    }

    /** Delivers an event to an application whose switch acknowledges all writes. */
    private static void deliver(App<?> app, TableMirror table, Event event) {
        for (Command command : app.onEvent(0, event)) {
            Command.Write write = (Command.Write) command;
            table.apply(write.updates());
            deliver(app, table, new Event.WriteDone(write.device(), write.batch()));
        }
    }

    static final View.Fields<RoutesView> SUMMARY = View.<RoutesView>object("Names and number of all routers")
            .field("count", View.COUNT.described("Number of routers."), view -> view.routers().size())
            .field("names", View.list(View.TEXT), view -> view.network().routers().values().stream().map(Router::name).collect(Collectors.toList()));

    @Test
    void aViewIsWritten() throws Exception {
        JsonNode network = RunningApps.example("network-routers.json").at("/apps/routes");
        RoutesView view = OneSystem.of(new RoutesSystem().read("", network)).view();
        assertEquals("[\"count\",\"names\"]", SUMMARY.schema().get("required").toString());
        assertEquals(view.routers().size(), SUMMARY.write(view).get("names").size());
    }
}

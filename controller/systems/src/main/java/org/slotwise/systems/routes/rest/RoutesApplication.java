// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.apps.AppPart;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Application;
import org.slotwise.apps.Running;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.RoutedNetwork;

/** Routers. */
public final class RoutesApplication implements Application<RoutesView> {
    @Override
    public String id() {
        return RoutesApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(RoutedNetwork.PROGRAM);
    }

    @Override
    public AppPart<RoutesView> read(String where, JsonNode value) throws InvalidJsonException {
        RoutedNetwork network = RoutesCodec.decode(where, value);
        return new AppPart<>() {
            @Override
            public Topology topology() {
                return network.topology();
            }

            @Override
            public App<RoutesView> make(AppState kept) {
                return new RoutesApp(network);
            }

            @Override
            public AppResources resources(Running<RoutesView> running) {
                return new RoutesResources(running);
            }

            @Override
            public List<Event.Order> kept(AppState kept) {
                return KeptCapacity.holding(kept, network);
            }
        };
    }
}

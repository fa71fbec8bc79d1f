// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

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
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;

/** A packet ring. */
public final class RingApplication implements Application<RingView> {
    @Override
    public String id() {
        return FairnessApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(RingNetwork.PROGRAM);
    }

    @Override
    public AppPart<RingView> read(String where, JsonNode value) throws InvalidJsonException {
        RingNetwork network = RingCodec.decode(where, value);
        return new AppPart<>() {
            @Override
            public Topology topology() {
                return network.topology();
            }

            @Override
            public App<RingView> make(AppState kept) {
                return new FairnessApp(network);
            }

            @Override
            public AppResources resources(Running<RingView> running) {
                return new RingResources(running);
            }

            @Override
            public List<Event.Order> kept(AppState kept) {
                return KeptRingChoice.holding(kept, network);
            }
        };
    }
}

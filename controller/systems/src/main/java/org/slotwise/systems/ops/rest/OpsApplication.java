// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.slotwise.apps.AppPart;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Application;
import org.slotwise.apps.Kept;
import org.slotwise.apps.Running;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ops.app.LabelApp;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.model.OpsNetwork;

/** Optical packet switches without slots. */
public final class OpsApplication implements Application<LabelView> {
    @Override
    public String id() {
        return LabelApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(OpsNetwork.PROGRAM, OpsNetwork.EDGE_PROGRAM);
    }

    @Override
    public AppPart<LabelView> read(String where, JsonNode value) throws InvalidJsonException {
        OpsNetwork network = OpsCodec.decode(where, value);
        return new AppPart<>() {
            @Override
            public Topology topology() {
                return network.topology();
            }

            @Override
            public App<LabelView> make(AppState kept) {
                return new LabelApp(network);
            }

            @Override
            public AppResources resources(Running<LabelView> running) {
                return new OpsResources(running);
            }

            @Override
            public List<Event.Order> kept(AppState kept) {
                BiFunction<String, String, Optional<Event.Order>> target = KeptTarget.reader(network);
                BiFunction<String, String, Optional<Event.Order>> weight = KeptWeight.reader(network);
                return Kept.holding(kept, (key, text) -> target.apply(key, text).or(() -> weight.apply(key, text)));
            }
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
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
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.model.LambdaWeb;

/** Sessions over lambdas, and what each has of them. */
public final class LambdaApplication implements Application<LambdaView> {
    @Override
    public String id() {
        return LambdaApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of();
    }

    @Override
    public AppPart<LambdaView> read(String where, JsonNode value) throws InvalidJsonException {
        LambdaWeb web = LambdaCodec.decode(where, value);
        List<Demand> sessions = LambdaCodec.sessions(where, value, web);
        // One change at a time, of all resources: what was found to fit must still fit when it is taken.
        Object changing = new Object();
        return new AppPart<>() {
            @Override
            public Topology topology() {
                return new Topology.Builder().build();
            }

            @Override
            public App<LambdaView> make(AppState kept) {
                return new LambdaApp(web, sessions);
            }

            @Override
            public AppResources resources(Running<LambdaView> running) {
                return new LambdaResources(running, changing);
            }

            @Override
            public List<Event.Order> kept(AppState kept) {
                return Kept.holding(kept, KeptSession.reader(web));
            }
        };
    }
}

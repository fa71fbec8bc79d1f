// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.model.LambdaWeb;

/** Sessions over lambdas, and what each has of them. */
public final class LambdaSystem implements SystemKind<LambdaView> {
    @Override
    public String id() {
        return LambdaApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of();
    }

    @Override
    public SystemPart<LambdaView> read(String where, JsonNode value) throws InvalidJsonException {
        LambdaWeb web = LambdaCodec.decode(where, value);
        List<Demand> sessions = LambdaCodec.sessions(where, value, web);
        return new SystemPart<>(new Topology.Builder().build(), () -> new LambdaApp(web, sessions), new LambdaResources(web).table());
    }
}

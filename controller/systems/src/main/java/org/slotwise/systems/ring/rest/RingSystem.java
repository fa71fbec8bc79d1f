// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;

/** A packet ring. */
public final class RingSystem implements SystemKind<RingView> {
    @Override
    public String id() {
        return FairnessApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(RingNetwork.PROGRAM);
    }

    @Override
    public SystemPart<RingView> read(String where, JsonNode value) throws InvalidJsonException {
        RingNetwork network = RingCodec.decode(where, value);
        return new SystemPart<>(network.topology(), () -> new FairnessApp(network), RingResources.of(network));
    }
}

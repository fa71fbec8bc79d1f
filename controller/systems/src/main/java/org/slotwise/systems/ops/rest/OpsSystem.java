// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ops.app.LabelApp;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.model.OpsNetwork;

/** Optical packet switches without slots. */
public final class OpsSystem implements SystemKind<LabelView> {
    @Override
    public String id() {
        return LabelApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(OpsNetwork.PROGRAM, OpsNetwork.EDGE_PROGRAM);
    }

    @Override
    public SystemPart<LabelView> read(String where, JsonNode value) throws InvalidJsonException {
        OpsNetwork network = OpsCodec.decode(where, value);
        return new SystemPart<>(network.topology(), () -> new LabelApp(network), OpsResources.of(network));
    }
}

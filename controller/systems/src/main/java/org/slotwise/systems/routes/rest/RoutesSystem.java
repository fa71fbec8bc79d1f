// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.RoutedNetwork;

/** Routers. */
public final class RoutesSystem implements SystemKind<RoutesView> {
    @Override
    public String id() {
        return RoutesApp.ID;
    }

    @Override
    public List<String> programs() {
        return List.of(RoutedNetwork.PROGRAM);
    }

    @Override
    public SystemPart<RoutesView> read(String where, JsonNode value) throws InvalidJsonException {
        RoutedNetwork network = RoutesCodec.decode(where, value);
        return new SystemPart<>(network.topology(), () -> new RoutesApp(network), RoutesResources.of(network));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import java.util.List;
import org.slotwise.rest.system.SystemKinds;
import org.slotwise.systems.lambda.rest.LambdaSystem;
import org.slotwise.systems.ops.rest.OpsSystem;
import org.slotwise.systems.ring.rest.RingSystem;
import org.slotwise.systems.routes.rest.RoutesSystem;
import org.slotwise.systems.star.rest.StarSystem;
import org.slotwise.systems.tables.rest.TablesSystem;

/** The one list of systems that come with the controller. */
public final class Systems {
    private Systems() {
    }

    /** Returns all systems. A new one is added at the end: ONOS identifies their configurations by position. */
    public static SystemKinds all() {
        return new SystemKinds(List.of(
                new StarSystem(),
                new RoutesSystem(),
                new RingSystem(),
                new OpsSystem(),
                new LambdaSystem(),
                new TablesSystem()));
    }
}

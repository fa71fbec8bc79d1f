// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import java.util.List;
import org.slotwise.apps.Applications;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.lambda.rest.LambdaApplication;
import org.slotwise.systems.ops.rest.OpsApplication;
import org.slotwise.systems.ring.rest.RingApplication;
import org.slotwise.systems.routes.rest.RoutesApplication;
import org.slotwise.systems.star.rest.StarApplication;
import org.slotwise.systems.star.rest.StarPaths;

/** The one list of systems that come with the controller. */
public final class Systems {
    private Systems() {
    }

    /** Returns all systems. A new one is added at the end: ONOS identifies their configurations by position. */
    public static Applications all() {
        return new Applications(List.of(
                new StarApplication(),
                new RoutesApplication(),
                new RingApplication(),
                new OpsApplication(),
                new LambdaApplication()));
    }

    /** Returns JAX-RS resources of systems outside {@code apps/}. */
    public static List<Object> resources(ControllerService service) {
        return List.of(new StarPaths(service));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.ws.rs.core.Application;

/** All resources and providers, for whatever container mounts them. */
public final class SlotwiseApplication extends Application {
    private final Set<Object> singletons;

    /** Takes the controller to show, and resources of systems outside {@code apps/}. */
    public SlotwiseApplication(ControllerService service, Collection<Object> more) {
        this.singletons = new HashSet<>(more);
        singletons.addAll(List.of(new AppsResource(service), new OpenApiResource(), new JsonNodeWriter(), new ProblemMapper(),
                new MalformedHeaders(), new RefusedTypes()));
    }

    @Override
    public Set<Object> getSingletons() {
        return Set.copyOf(singletons);
    }
}

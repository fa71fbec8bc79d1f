// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.Set;
import javax.ws.rs.core.Application;

/** All resources and providers, for whatever container mounts them. */
public final class SlotwiseApplication extends Application {
    /** Largest body of a request, bytes; a choice of scheduler has less than a hundred. */
    public static final int MAX_BODY_BYTES = 16 * 1024;

    private final Set<Object> singletons;

    /** Takes the controller to show. */
    public SlotwiseApplication(ControllerService service) {
        this.singletons = Set.of(new SystemsResource(service), new OpenApiResource(), new JsonNodeWriter(), new ProblemMapper(),
                new MalformedRequests(), new RefusedTypes());
    }

    @Override
    public Set<Object> getSingletons() {
        return singletons;
    }
}

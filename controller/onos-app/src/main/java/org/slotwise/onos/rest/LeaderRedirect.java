// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.rest;

import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;
import javax.ws.rs.core.UriBuilder;

/**
 * What only the leader knows is asked of the leader: another node answers with a redirect to the same resource there, which
 * keeps method and body. The document and the live page's files are the same on every node.
 */
final class LeaderRedirect {
    private static final List<String> EVERYWHERE = List.of("slotwise/v1/openapi.", "slotwise/page/assets/");

    private final Supplier<Optional<String>> leader;

    LeaderRedirect(Supplier<Optional<String>> leader) {
        this.leader = leader;
    }

    /** Answers a request that is another node's. */
    void apply(ContainerRequestContext request) {
        URI asked = request.getUriInfo().getRequestUri();
        String path = request.getUriInfo().getPath();
        if (EVERYWHERE.stream().anyMatch(path::startsWith)) {
            return;
        }
        leader.get().ifPresent(address -> {
            URI there = UriBuilder.fromUri(asked).host(address).build();
            request.abortWith(Response.temporaryRedirect(there).type(MediaType.APPLICATION_JSON_TYPE)
                    .entity("{\"type\":\"about:blank\",\"title\":\"Temporary Redirect\",\"status\":307,"
                            + "\"detail\":\"the controller runs on node " + address + "\"}").build());
        });
    }
}

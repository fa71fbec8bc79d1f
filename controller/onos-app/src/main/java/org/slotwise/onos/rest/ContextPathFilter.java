// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.rest;

import java.net.URI;
import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.container.ContainerRequestFilter;
import javax.ws.rs.container.PreMatching;
import javax.ws.rs.core.UriInfo;

/**
 * The resources begin with {@code slotwise/}, and so does the context path that ONOS has for this app; the filter adds
 * again what the servlet container took away. Before that, what is the leader's is sent there.
 */
@PreMatching
final class ContextPathFilter implements ContainerRequestFilter {
    private final LeaderRedirect leader;

    ContextPathFilter(LeaderRedirect leader) {
        this.leader = leader;
    }

    @Override
    public void filter(ContainerRequestContext request) {
        leader.apply(request);
        UriInfo uri = request.getUriInfo();
        URI relative = uri.getBaseUri().relativize(uri.getRequestUri());
        request.setRequestUri(uri.getBaseUri(), uri.getBaseUri().resolve("slotwise/").resolve(relative));
    }
}

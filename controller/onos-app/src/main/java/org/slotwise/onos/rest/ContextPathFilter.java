// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.rest;

import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.container.ContainerRequestFilter;
import javax.ws.rs.container.PreMatching;
import javax.ws.rs.core.UriInfo;

/**
 * The resources begin with {@code slotwise/}, and so does the context path that ONOS has for this app; so their base is what stands
 * before it. What is the leader's is sent there.
 */
@PreMatching
final class ContextPathFilter implements ContainerRequestFilter {
    private final LeaderRedirect leader;

    ContextPathFilter(LeaderRedirect leader) {
        this.leader = leader;
    }

    @Override
    public void filter(ContainerRequestContext request) {
        UriInfo uri = request.getUriInfo();
        request.setRequestUri(uri.getBaseUri().resolve(".."), uri.getRequestUri());
        leader.apply(request);
    }
}

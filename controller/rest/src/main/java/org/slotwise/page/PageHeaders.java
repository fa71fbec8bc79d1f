// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.util.Map;
import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.container.ContainerResponseContext;
import javax.ws.rs.container.ContainerResponseFilter;

/** What a browser may do with an answer that has the page's address, problems and redirects among them. */
public final class PageHeaders implements ContainerResponseFilter {
    private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors ";

    /** Which pages may have this one in them. */
    public enum Frames {
        /** None. */
        NONE("'none'"),
        /** Those of the same server. */
        SAME_SERVER("'self'");

        private final String ancestors;

        Frames(String ancestors) {
            this.ancestors = ancestors;
        }
    }

    private final Map<String, String> headers;

    PageHeaders(Frames frames) {
        this.headers = of(frames);
    }

    /** Them by name. */
    public static Map<String, String> of(Frames frames) {
        return Map.of("Content-Security-Policy", POLICY + frames.ancestors, "X-Content-Type-Options", "nosniff",
                "Referrer-Policy", "no-referrer", "Cache-Control", "no-store");
    }

    @Override
    public void filter(ContainerRequestContext request, ContainerResponseContext answer) {
        if (request.getUriInfo().getPath().startsWith(PageResource.BELOW)) {
            headers.forEach(answer.getHeaders()::putSingle);
        }
    }
}

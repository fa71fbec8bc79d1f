// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.function.Supplier;
import javax.ws.rs.ProcessingException;
import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.container.ContainerRequestFilter;
import javax.ws.rs.container.PreMatching;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.ext.Provider;

/**
 * Rejects malformed requests before the lookup of a resource. Without it, Jersey would answer malformed headers without a body, and
 * would drop matrix parameters: a caller would get another resource than it names.
 */
@Provider
@PreMatching
public final class MalformedRequests implements ContainerRequestFilter {
    @Override
    public void filter(ContainerRequestContext request) {
        if (request.getUriInfo().getRequestUri().getRawPath().indexOf(';') >= 0) {
            throw new ProblemException(400, "unsupported matrix parameter in the path; expected a percent-encoded ';' if it is part of a name");
        }
        check(request, HttpHeaders.CONTENT_TYPE, request::getMediaType);
        check(request, HttpHeaders.ACCEPT, request::getAcceptableMediaTypes);
    }

    private static void check(ContainerRequestContext request, String name, Supplier<?> reader) {
        try {
            Object unused = reader.get();
        } catch (ProcessingException | IllegalArgumentException e) {
            throw new ProblemException(400, "header " + name + " is malformed; expected a media type such as application/json, got '"
                    + request.getHeaderString(name) + "'");
        }
    }
}

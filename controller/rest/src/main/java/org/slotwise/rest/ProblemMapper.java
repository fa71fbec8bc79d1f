// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import java.util.TreeSet;
import javax.ws.rs.HttpMethod;
import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.Response;
import javax.ws.rs.ext.ExceptionMapper;
import javax.ws.rs.ext.Provider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.system.SystemResources;

/** Answers every error with a problem document (RFC 9457); a defect is logged, not shown. */
@Provider
public final class ProblemMapper implements ExceptionMapper<Throwable> {
    /** Media type of the answers. */
    static final String PROBLEM_JSON = "application/problem+json";
    /** RFC 4918; JAX-RS has no name for it. */
    private static final int INSUFFICIENT_STORAGE = 507;
    private static final Logger LOG = LoggerFactory.getLogger(ProblemMapper.class);

    @Override
    public Response toResponse(Throwable error) {
        if (error instanceof WebApplicationException) {
            Response response = ((WebApplicationException) error).getResponse();
            Set<String> allowed = allowed(response);
            return answer(Response.fromResponse(response).allow(allowed), response.getStatus(), detail(error, response, allowed));
        }
        if (error instanceof ControllerService.UnavailableException) {
            String cause = error.getCause() == null ? "" : ": " + error.getCause();
            LOG.warn("request failed: {}{}", error.getMessage(), cause);
            return answer(Response.status(503), 503, error.getMessage());
        }
        if (error instanceof ControllerService.NoSuchApplicationException) {
            return answer(Response.status(404), 404, error.getMessage());
        }
        if (error instanceof SystemResources.NotHereException) {
            return answer(Response.status(409), 409, error.getMessage());
        }
        if (error instanceof SystemResources.NotOnThisHostException) {
            return answer(Response.status(501), 501, error.getMessage());
        }
        if (error instanceof ControllerService.NotKeptException) {
            LOG.warn("request failed: {}", error.getMessage());
            return answer(Response.status(INSUFFICIENT_STORAGE), INSUFFICIENT_STORAGE, error.getMessage());
        }
        LOG.error("request failed", error);
        return answer(Response.serverError(), 500, "unexpected error; see the controller's log");
    }

    /** Methods that a resource which refuses one allows, or null: Jersey serves HEAD where there is GET, and does not name it here. */
    private static Set<String> allowed(Response response) {
        if (response.getAllowedMethods().isEmpty()) {
            return null;
        }
        Set<String> allowed = new TreeSet<>(response.getAllowedMethods());
        if (allowed.contains(HttpMethod.GET)) {
            allowed.add(HttpMethod.HEAD);
        }
        return allowed;
    }

    private static String detail(Throwable error, Response response, Set<String> allowed) {
        if (error instanceof ProblemException) {
            return error.getMessage();
        }
        switch (response.getStatus()) {
            case 404:
                return "unknown resource; see GET /slotwise/v1/openapi.json";
            case 405:
                return "unsupported method; expected one of " + String.join(", ", allowed);
            case 406:
                return "unsupported Accept; expected application/json";
            case 415:
                return "unsupported Content-Type; expected application/json";
            default:
                return response.getStatusInfo().getReasonPhrase();
        }
    }

    private static Response answer(Response.ResponseBuilder builder, int status, String detail) {
        ObjectNode problem = JsonNodeFactory.instance.objectNode()
                .put("type", "about:blank")
                .put("title", ProblemTitle.of(status))
                .put("status", status)
                .put("detail", detail);
        return builder.entity(problem).type(PROBLEM_JSON).build();
    }
}

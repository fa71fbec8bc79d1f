// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import javax.ws.rs.ProcessingException;
import javax.ws.rs.core.EntityTag;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.Request;
import javax.ws.rs.core.Response;
import org.slotwise.rest.system.SystemResources.Condition;

/** Preconditions of requests (RFC 9110, 13): callers that change a value which they have read do not undo each other's changes. */
final class Preconditions {
    private Preconditions() {
    }

    /** Answers a reader with a value and its entity tag, or without the value if the reader has it. */
    static Response answer(Request request, JsonNode value) {
        EntityTag tag = tag(value);
        Response.ResponseBuilder other = evaluated(() -> request.evaluatePreconditions(tag));
        if (other != null && other.build().getStatus() == Response.Status.PRECONDITION_FAILED.getStatusCode()) {
            throw failed("another entity tag");
        }
        return (other == null ? Response.ok(value) : other).tag(tag).build();
    }

    /** Returns the condition that a request sets. */
    static Condition of(Request request, HttpHeaders headers) {
        boolean isConditional = headers.getRequestHeaders().containsKey(HttpHeaders.IF_MATCH)
                || headers.getRequestHeaders().containsKey(HttpHeaders.IF_NONE_MATCH);
        return isConditional ? now -> check(request, now) : Condition.NONE;
    }

    private static void check(Request request, Optional<JsonNode> now) {
        Response.ResponseBuilder other = evaluated(() -> now.isPresent()
                ? request.evaluatePreconditions(tag(now.get())) : request.evaluatePreconditions());
        if (other != null) {
            throw failed(now.isPresent() ? "another entity tag" : "nothing at this place");
        }
    }

    private static ProblemException failed(String found) {
        return new ProblemException(412, "precondition failed: " + found + "; expected If-Match with the ETag of a GET, or If-None-Match: * for a new resource");
    }

    private static Response.ResponseBuilder evaluated(Supplier<Response.ResponseBuilder> evaluation) {
        try {
            return evaluation.get();
        } catch (ProcessingException | IllegalArgumentException e) {
            throw new ProblemException(400, "malformed If-Match or If-None-Match; expected * or a list of entity tags such as \"a1\"");
        }
    }

    /** Any change of the JSON text makes another one. */
    private static EntityTag tag(JsonNode value) {
        return new EntityTag(UUID.nameUUIDFromBytes(value.toString().getBytes(StandardCharsets.UTF_8)).toString());
    }
}

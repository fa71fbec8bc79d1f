// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.ws.rs.Consumes;
import javax.ws.rs.GET;
import javax.ws.rs.PUT;
import javax.ws.rs.Produces;
import javax.ws.rs.QueryParam;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;
import org.slotwise.apps.SystemResources;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** One resource of an application. Its class has the methods that this resource allows, and no other: JAX-RS lists them in {@code Allow}. */
@Produces(MediaType.APPLICATION_JSON)
public class AppResource {
    private final SystemResources<?> app;
    private final String name;

    private AppResource(SystemResources<?> app, String name) {
        this.app = app;
        this.name = name;
    }

    /** Returns a resource by name; throws {@link ProblemException} 404 if the application has none of that name. */
    public static AppResource of(SystemResources<?> app, String name) {
        SystemResources.Changer change = app.changes().get(name);
        if (change != null) {
            return new Changeable(app, name, change);
        }
        if (!app.reads().containsKey(name)) {
            throw new ProblemException(404, "unknown resource of application " + app.id() + "; expected one of "
                    + String.join(", ", app.reads().keySet()));
        }
        return new AppResource(app, name);
    }

    /** Reads it; with a name only the part of that name. */
    @GET
    public JsonNode read(@QueryParam("name") String part) {
        Supplier<JsonNode> whole = app.reads().get(name);
        if (part == null) {
            return whole.get();
        }
        Function<String, JsonNode> parts = app.parts().get(name);
        if (parts == null) {
            throw new ProblemException(400, "'name' is not supported by this resource; omit it");
        }
        return parts.apply(part);
    }

    /** A resource that can be changed, too. */
    public static final class Changeable extends AppResource {
        /** Largest body, bytes; a choice of scheduler has less than a hundred. */
        private static final int MAX_BODY_BYTES = 16 * 1024;
        private static final String NO_CODING = "identity";

        private final SystemResources.Changer change;

        private Changeable(SystemResources<?> app, String name, SystemResources.Changer change) {
            super(app, name);
            this.change = change;
        }

        /** Changes it. */
        @PUT
        @Consumes(MediaType.APPLICATION_JSON)
        public JsonNode change(@Context HttpHeaders headers, InputStream body) throws IOException {
            checkForm(headers);
            JsonNode value = parse(body);
            try {
                return change.apply(value);
            } catch (InvalidJsonException e) {
                throw new ProblemException(422, e.getMessage());
            }
        }

        /** JAX-RS takes no type and patterns of types for JSON as well, and does not look at how a body is written. */
        private static void checkForm(HttpHeaders headers) {
            MediaType type = headers.getMediaType();
            if (type == null || type.isWildcardType() || type.isWildcardSubtype()) {
                throw new ProblemException(415, "missing or ambiguous Content-Type; expected application/json");
            }
            String charset = type.getParameters().getOrDefault(MediaType.CHARSET_PARAMETER, StandardCharsets.UTF_8.name());
            if (!charset.equalsIgnoreCase(StandardCharsets.UTF_8.name())) {
                throw new ProblemException(415, "unsupported charset; expected UTF-8, got '" + charset + "'");
            }
            String coding = headers.getHeaderString(HttpHeaders.CONTENT_ENCODING);
            if (coding != null && !coding.equalsIgnoreCase(NO_CODING)) {
                throw new ProblemException(Response.status(415).header(HttpHeaders.ACCEPT_ENCODING, NO_CODING).build(),
                        "unsupported Content-Encoding; expected identity, got '" + coding + "'");
            }
        }

        private static JsonNode parse(InputStream body) throws IOException {
            byte[] text = body.readNBytes(MAX_BODY_BYTES + 1);
            if (text.length > MAX_BODY_BYTES) {
                throw new ProblemException(413, "body too large; expected at most " + MAX_BODY_BYTES + " bytes");
            }
            try {
                return JsonFields.parse(text);
            } catch (InvalidJsonException e) {
                throw new ProblemException(400, e.getMessage());
            }
        }
    }
}

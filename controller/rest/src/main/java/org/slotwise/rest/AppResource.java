// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
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
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.json.InvalidJsonException;

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
        if (app.isFixed(name)) {
            return new Changeable(app, name, body -> {
                throw new ProblemException(501, "not supported by this controller");
            });
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
        private final SystemResources.Changer change;

        private Changeable(SystemResources<?> app, String name, SystemResources.Changer change) {
            super(app, name);
            this.change = change;
        }

        /** Changes it. */
        @PUT
        @Consumes(MediaType.APPLICATION_JSON)
        public JsonNode change(@Context HttpHeaders headers, InputStream body) throws IOException {
            JsonNode value = RequestBody.read(headers, body);
            try {
                return change.apply(value);
            } catch (InvalidJsonException e) {
                throw new ProblemException(422, e.getMessage());
            }
        }
    }
}

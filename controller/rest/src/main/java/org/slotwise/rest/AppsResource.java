// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.ws.rs.Consumes;
import javax.ws.rs.GET;
import javax.ws.rs.HeaderParam;
import javax.ws.rs.PUT;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.Produces;
import javax.ws.rs.QueryParam;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import org.slotwise.apps.AppResources;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.star.schedule.InvalidSettingsException;

/** The applications that the controller runs, and the resources of each. */
@Path("slotwise/v1")
@Produces(MediaType.APPLICATION_JSON)
public final class AppsResource {
    /** Largest body, bytes; a choice of scheduler has less than a hundred. */
    static final int MAX_BODY_BYTES = 16 * 1024;

    private final ControllerService service;

    AppsResource(ControllerService service) {
        this.service = service;
    }

    /** All of them. */
    @GET
    @Path("apps")
    public JsonNode apps() {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        ArrayNode apps = node.putArray("apps");
        service.apps().forEach(app -> apps.add(describe(app)));
        return node;
    }

    /** One of them. */
    @GET
    @Path("apps/{id}")
    public JsonNode app(@PathParam("id") String id) {
        return describe(find(id));
    }

    private static ObjectNode describe(AppResources app) {
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("id", app.id()).put("description", app.description());
        ArrayNode resources = node.putArray("resources");
        app.reads().keySet().forEach(name -> resources.addObject()
                .put("name", name).put("can_change", app.changes().containsKey(name)));
        return node;
    }

    private AppResources find(String id) {
        List<AppResources> apps = service.apps();
        return apps.stream().filter(app -> app.id().equals(id)).findFirst().orElseThrow(() -> new ProblemException(404,
                "there is no such application; there are " + apps.stream().map(AppResources::id).collect(Collectors.joining(", "))));
    }

    /** One of its resources; with a name what it has of that name alone. */
    @GET
    @Path("apps/{id}/{resource}")
    public JsonNode read(@PathParam("id") String id, @PathParam("resource") String resource, @QueryParam("name") String name) {
        AppResources app = find(id);
        Supplier<JsonNode> read = app.reads().get(resource);
        if (read == null) {
            throw noSuchResource(app);
        }
        if (name == null) {
            return read.get();
        }
        Function<String, JsonNode> part = app.parts().get(resource);
        if (part == null) {
            throw new ProblemException(400, "this resource has no names to ask for; without 'name' all of it is shown");
        }
        return part.apply(name);
    }

    private static ProblemException noSuchResource(AppResources app) {
        return new ProblemException(404, "application " + app.id() + " has no such resource; it has "
                + String.join(", ", app.reads().keySet()));
    }

    /** Changes one of its resources. */
    @PUT
    @Path("apps/{id}/{resource}")
    @Consumes(MediaType.APPLICATION_JSON)
    public JsonNode change(@PathParam("id") String id, @PathParam("resource") String resource,
            @HeaderParam(HttpHeaders.CONTENT_TYPE) String contentType, InputStream body) throws IOException {
        return change(find(id), resource, contentType, body);
    }

    static JsonNode change(AppResources app, String resource, String contentType, InputStream body) throws IOException {
        AppResources.Change change = app.changes().get(resource);
        if (change == null && app.reads().containsKey(resource)) {
            throw new ProblemException(405, "this resource allows GET,HEAD,OPTIONS");
        } else if (change == null) {
            throw noSuchResource(app);
        }
        JsonNode value = read(contentType, body);
        try {
            return change.apply(value);
        } catch (InvalidJsonException | InvalidSettingsException e) {
            throw new ProblemException(422, e.getMessage());
        }
    }

    private static JsonNode read(String contentType, InputStream body) throws IOException {
        if (contentType == null) {
            throw new ProblemException(415, "a body must be application/json, and Content-Type say so");
        }
        byte[] text = body.readNBytes(MAX_BODY_BYTES + 1);
        if (text.length > MAX_BODY_BYTES) {
            throw new ProblemException(413, "a body has at most " + MAX_BODY_BYTES + " bytes");
        }
        try {
            return JsonFields.parse(text);
        } catch (InvalidJsonException e) {
            throw new ProblemException(400, e.getMessage());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Collectors;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.Produces;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.PathSegment;
import org.slotwise.rest.system.SystemResources;

/** The applications that the controller runs, and the resources of each. */
@Path("slotwise/v1")
@Produces(MediaType.APPLICATION_JSON)
public final class AppsResource {
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

    private static ObjectNode describe(SystemResources<?> app) {
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("id", app.id()).put("description", app.description());
        ArrayNode resources = node.putArray("resources");
        app.reads().keySet().forEach(name -> resources.addObject()
                .put("name", name).put("can_change", app.changes().containsKey(name)));
        return node;
    }

    private SystemResources<?> find(String id) {
        List<SystemResources<?>> apps = service.apps();
        return apps.stream().filter(app -> app.id().equals(id)).findFirst().orElseThrow(() -> new ProblemException(404,
                "unknown application; expected one of " + apps.stream().map(SystemResources::id).collect(Collectors.joining(", "))));
    }

    /** One of its resources. */
    @Path("apps/{id}/{resource}")
    public AppResource resource(@PathParam("id") String id, @PathParam("resource") String resource) {
        return AppResource.of(find(id), resource);
    }

    /** One of what such a resource lists. */
    @Path("apps/{id}/{resource}/{place: .+}")
    public ItemResource item(@PathParam("id") String id, @PathParam("resource") String resource, @PathParam("place") List<PathSegment> place) {
        return ItemResource.of(find(id), resource, place);
    }
}

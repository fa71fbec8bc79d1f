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

/** Systems that the controller runs, and the resources of each. */
@Path("slotwise/v1")
@Produces(MediaType.APPLICATION_JSON)
public final class SystemsResource {
    private final ControllerService service;

    SystemsResource(ControllerService service) {
        this.service = service;
    }

    /** Lists all of them. */
    @GET
    public JsonNode systems() {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        ArrayNode systems = node.putArray("systems");
        service.apps().forEach(system -> systems.add(describe(system)));
        return node;
    }

    /** Describes one of them. */
    @GET
    @Path("{system}")
    public JsonNode system(@PathParam("system") String id) {
        return describe(find(id));
    }

    private static ObjectNode describe(SystemResources<?> system) {
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("id", system.id()).put("description", system.description());
        ArrayNode resources = node.putArray("resources");
        system.reads().keySet().forEach(name -> resources.addObject().put("name", name).put("can_change", system.canChange(name)));
        return node;
    }

    private SystemResources<?> find(String id) {
        List<SystemResources<?>> systems = service.apps();
        return systems.stream().filter(system -> system.id().equals(id)).findFirst().orElseThrow(() -> new ProblemException(404,
                "unknown system; expected one of " + systems.stream().map(SystemResources::id).collect(Collectors.joining(", "))));
    }

    /** One of its resources, or one of what such a resource lists. */
    @Path("{system}/{path: .+}")
    public SystemResource resource(@PathParam("system") String id, @PathParam("path") List<PathSegment> path) {
        return SystemResource.of(find(id), path.stream().map(PathSegment::getPath).collect(Collectors.toList()));
    }
}

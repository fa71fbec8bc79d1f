// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import javax.ws.rs.Consumes;
import javax.ws.rs.DELETE;
import javax.ws.rs.GET;
import javax.ws.rs.PUT;
import javax.ws.rs.Produces;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.system.SystemResources;

/** Resource of a system. Its class has the methods that it allows, and no other: JAX-RS lists them in {@code Allow}. */
@Produces(MediaType.APPLICATION_JSON)
public class SystemResource {
    private final SystemResources.Resource resource;

    private SystemResource(SystemResources.Resource resource) {
        this.resource = resource;
    }

    /** Returns the resource at a path; throws {@link ProblemException} 404 if the system never has any there. */
    static SystemResource of(SystemResources<?> system, List<String> path) {
        SystemResources.Resource resource = system.at(path).orElseThrow(() -> new ProblemException(404, unknown(system, path)));
        return resource.canDelete() ? new Deletable(resource) : resource.canChange() ? new Changeable(resource) : new SystemResource(resource);
    }

    private static String unknown(SystemResources<?> system, List<String> path) {
        return system.reads().containsKey(path.get(0)) ? "nothing at this place; see the resource above"
                : "unknown resource of system " + system.id() + "; expected one of " + String.join(", ", system.reads().keySet());
    }

    /** Returns the resource, with an entity tag if it is writable. */
    @GET
    public Response read(@Context HttpHeaders headers) {
        JsonNode value = found(resource.read());
        return resource.canChange() ? Preconditions.answer(headers, value) : Response.ok(value).build();
    }

    JsonNode found(Optional<JsonNode> value) {
        return value.orElseThrow(() -> new ProblemException(404, resource.unknown()));
    }

    /** A resource that can be changed, too. */
    public static class Changeable extends SystemResource {
        private final SystemResources.Resource resource;

        private Changeable(SystemResources.Resource resource) {
            super(resource);
            this.resource = resource;
        }

        /** Changes it. */
        @PUT
        @Consumes(MediaType.APPLICATION_JSON)
        public JsonNode change(@Context HttpHeaders headers, InputStream body) throws IOException {
            JsonNode value = RequestBody.read(headers, body);
            try {
                return found(resource.put(value, Preconditions.of(headers)));
            } catch (InvalidJsonException e) {
                throw new ProblemException(422, e.getMessage());
            }
        }
    }

    /** A resource that can go, too. */
    public static final class Deletable extends Changeable {
        private final SystemResources.Resource resource;

        private Deletable(SystemResources.Resource resource) {
            super(resource);
            this.resource = resource;
        }

        /** Removes it. */
        @DELETE
        public void delete(@Context HttpHeaders headers) {
            if (!resource.delete(Preconditions.of(headers))) {
                throw new ProblemException(404, resource.unknown());
            }
        }
    }
}

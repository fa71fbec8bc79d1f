// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import javax.ws.rs.Consumes;
import javax.ws.rs.DELETE;
import javax.ws.rs.GET;
import javax.ws.rs.PUT;
import javax.ws.rs.Produces;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.PathSegment;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.json.InvalidJsonException;

/** Resource at a place below one that lists such. Its class has the methods that it allows, and no other: JAX-RS lists them in {@code Allow}. */
@Produces(MediaType.APPLICATION_JSON)
public class ItemResource {
    private final SystemResources.Item item;
    private final boolean isFixed;

    private ItemResource(SystemResources.Item item, boolean isFixed) {
        this.item = item;
        this.isFixed = isFixed;
    }

    /** Returns the resource at a place; throws {@link ProblemException} 404 if there is none of such places. */
    static ItemResource of(SystemResources<?> app, String name, List<PathSegment> place) {
        SystemResources.Item item = app.item(name, place.stream().map(PathSegment::getPath).collect(Collectors.toList()))
                .orElseThrow(ItemResource::nothing);
        boolean isFixed = app.isFixed(name);
        return item.canDelete() ? new Deletable(item, isFixed) : new ItemResource(item, isFixed);
    }

    private static ProblemException nothing() {
        return new ProblemException(404, "nothing at this place; see the resource above");
    }

    /** Reads it. */
    @GET
    public JsonNode read() {
        return found(item.read());
    }

    /** Changes it. */
    @PUT
    @Consumes(MediaType.APPLICATION_JSON)
    public JsonNode change(@Context HttpHeaders headers, InputStream body) throws IOException {
        JsonNode value = RequestBody.read(headers, body);
        if (isFixed) {
            throw new ProblemException(501, "not supported by this controller");
        }
        try {
            return found(item.put(value));
        } catch (InvalidJsonException e) {
            throw new ProblemException(422, e.getMessage());
        }
    }

    private static JsonNode found(Optional<JsonNode> value) {
        return value.orElseThrow(ItemResource::nothing);
    }

    /** A resource that can go. */
    public static final class Deletable extends ItemResource {
        private final SystemResources.Item item;

        private Deletable(SystemResources.Item item, boolean isFixed) {
            super(item, isFixed);
            this.item = item;
        }

        /** Removes it. */
        @DELETE
        public void delete() {
            if (!item.delete()) {
                throw nothing();
            }
        }
    }
}

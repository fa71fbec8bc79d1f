// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.ws.rs.core.MediaType;

/** The document that describes all resources. */
@Path("slotwise/v1")
public final class OpenApiResource {
    private static final String FILE = "/openapi.yaml";

    private final byte[] yaml;
    private final JsonNode json;

    /** Reads the document, which is part of this library. */
    OpenApiResource() {
        try (InputStream file = OpenApiResource.class.getResourceAsStream(FILE)) {
            yaml = file.readAllBytes();
            json = new YAMLMapper().readTree(yaml);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As YAML. */
    @GET
    @Path("openapi.yaml")
    @Produces("application/yaml")
    public byte[] yaml() {
        return yaml.clone();
    }

    /** As JSON. */
    @GET
    @Path("openapi.json")
    @Produces(MediaType.APPLICATION_JSON)
    public JsonNode json() {
        return json;
    }
}

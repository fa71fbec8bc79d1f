// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import javax.ws.rs.Consumes;
import javax.ws.rs.GET;
import javax.ws.rs.HeaderParam;
import javax.ws.rs.PUT;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.star.StarResources;
import org.slotwise.star.StarApp;

/** The resources of the star, at the paths that they had when there was no other application. */
@Path("slotwise/v1")
@Produces(MediaType.APPLICATION_JSON)
public final class ControllerResource {
    private final ControllerService service;

    ControllerResource(ControllerService service) {
        this.service = service;
    }

    private AppResources star() {
        return service.app(StarApp.ID);
    }

    private JsonNode read(String name) {
        return star().reads().get(name).get();
    }

    /** What the controller is at. */
    @GET
    @Path("status")
    public JsonNode status() {
        return read("status");
    }

    /** Core, edges, hosts, fibres. */
    @GET
    @Path("topology")
    public JsonNode topology() {
        return read("topology");
    }

    /** Switches and whether they are there. */
    @GET
    @Path("nodes")
    public JsonNode nodes() {
        return read("nodes");
    }

    /** How edges joined, their T_d and their faults. */
    @GET
    @Path("members")
    public JsonNode members() {
        return read("members");
    }

    /** Backlog, demand and grants by edge pair. */
    @GET
    @Path("demand")
    public JsonNode demand() {
        return read("demand");
    }

    /** The schedule in force as slot tables. */
    @GET
    @Path("schedule")
    public JsonNode schedule() {
        return read("schedule");
    }

    /** Counts and times. */
    @GET
    @Path("statistics")
    public JsonNode statistics() {
        return read("statistics");
    }

    /** The scheduler in use, its settings, and what else there is. */
    @GET
    @Path("scheduler")
    public JsonNode scheduler() {
        return read("scheduler");
    }

    /** Which masters are shut down. */
    @GET
    @Path("shutdown")
    public JsonNode shutdown() {
        return read("shutdown");
    }

    /** Chooses the scheduler and its settings; holds from the next frame that is scheduled. */
    @PUT
    @Path("scheduler")
    @Consumes(MediaType.APPLICATION_JSON)
    public JsonNode choose(@HeaderParam(HttpHeaders.CONTENT_TYPE) String contentType, InputStream body) throws IOException {
        return AppsResource.change(star(), StarResources.SCHEDULER, contentType, body);
    }

    /** Shuts the master of a core down, or takes it back. */
    @PUT
    @Path("shutdown")
    @Consumes(MediaType.APPLICATION_JSON)
    public JsonNode shutDown(@HeaderParam(HttpHeaders.CONTENT_TYPE) String contentType, InputStream body) throws IOException {
        return AppsResource.change(star(), StarResources.SHUTDOWN, contentType, body);
    }
}

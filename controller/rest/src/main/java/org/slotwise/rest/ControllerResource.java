// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.rest.json.ShutdownCodec;
import org.slotwise.rest.json.SnapshotCodec;
import org.slotwise.star.MasterShutdown;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.Snapshot;
import org.slotwise.star.network.Network;
import org.slotwise.star.schedule.InvalidSettingsException;

/** The controller's state, the choice of its scheduler, and which masters are shut down. */
@Path("slotwise/v1")
@Produces(MediaType.APPLICATION_JSON)
public final class ControllerResource {
    /** Largest body, bytes; a choice of scheduler has less than a hundred. */
    static final int MAX_BODY_BYTES = 16 * 1024;

    private final ControllerService service;

    ControllerResource(ControllerService service) {
        this.service = service;
    }

    /** What the controller is at. */
    @GET
    @Path("status")
    public JsonNode status() {
        return SnapshotCodec.status(service.snapshot());
    }

    /** Core, edges, hosts, fibres. */
    @GET
    @Path("topology")
    public JsonNode topology() {
        return SnapshotCodec.topology(service.snapshot());
    }

    /** Switches and whether they are there. */
    @GET
    @Path("nodes")
    public JsonNode nodes() {
        return SnapshotCodec.nodes(service.snapshot());
    }

    /** How edges joined, their T_d and their faults. */
    @GET
    @Path("members")
    public JsonNode members() {
        return SnapshotCodec.members(service.snapshot());
    }

    /** Backlog, demand and grants by edge pair. */
    @GET
    @Path("demand")
    public JsonNode demand() {
        return SnapshotCodec.demand(service.snapshot());
    }

    /** The schedule in force as slot tables. */
    @GET
    @Path("schedule")
    public JsonNode schedule() {
        return SnapshotCodec.schedule(service.snapshot());
    }

    /** Counts and times. */
    @GET
    @Path("statistics")
    public JsonNode statistics() {
        return SnapshotCodec.statistics(service.snapshot());
    }

    /** The scheduler in use, its settings, and what else there is. */
    @GET
    @Path("scheduler")
    public JsonNode scheduler() {
        return SchedulerCodec.encodeWithAlternatives(service.snapshot());
    }

    /** Chooses the scheduler and its settings; holds from the next frame that is scheduled. */
    @PUT
    @Path("scheduler")
    @Consumes(MediaType.APPLICATION_JSON)
    public ObjectNode choose(@HeaderParam(HttpHeaders.CONTENT_TYPE) String contentType, InputStream body)
            throws IOException {
        JsonNode value = read(contentType, body);
        try {
            Snapshot snapshot = service.snapshot();
            SchedulerChosen choice = SchedulerCodec.decode("", value, snapshot.scheduler().catalogue());
            choice.kind().checkEdges(choice.settings(), snapshot.network().edges().size());
            service.choose(choice);
            return SchedulerCodec.encode(choice.kind(), choice.settings());
        } catch (InvalidJsonException | InvalidSettingsException e) {
            throw new ProblemException(422, e.getMessage());
        }
    }

    /** Which masters are shut down. */
    @GET
    @Path("shutdown")
    public JsonNode shutdown() {
        return ShutdownCodec.encode(service.snapshot());
    }

    /** Shuts the master of a core down, or takes it back. */
    @PUT
    @Path("shutdown")
    @Consumes(MediaType.APPLICATION_JSON)
    public ObjectNode shutDown(@HeaderParam(HttpHeaders.CONTENT_TYPE) String contentType, InputStream body)
            throws IOException {
        JsonNode value = read(contentType, body);
        Network network = service.snapshot().network();
        MasterShutdown shutdown;
        try {
            shutdown = ShutdownCodec.decode(network, value);
        } catch (InvalidJsonException e) {
            throw new ProblemException(422, e.getMessage());
        }
        if (!network.canShutDown()) {
            throw new ProblemException(409, "a master can be shut down where edges join by invitation, or another core"
                    + " takes the traffic over; this network has static membership and one core");
        }
        service.shutDown(shutdown);
        return ShutdownCodec.encode(network, shutdown.core(), shutdown.isDown());
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

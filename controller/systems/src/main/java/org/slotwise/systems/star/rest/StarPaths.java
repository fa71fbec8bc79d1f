// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import javax.ws.rs.Path;
import org.slotwise.rest.AppResource;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.StarApp;

/** The resources of the star, at the paths that they had when there was no other application. */
@Path("slotwise/v1")
public final class StarPaths {
    private final ControllerService service;

    /** Takes the controller to show. */
    public StarPaths(ControllerService service) {
        this.service = service;
    }

    private AppResource star(String name) {
        return AppResource.of(service.app(StarApp.ID), name);
    }

    /** What the controller is at. */
    @Path("status")
    public AppResource status() {
        return star("status");
    }

    /** Core, edges, hosts, fibres. */
    @Path("topology")
    public AppResource topology() {
        return star("topology");
    }

    /** Switches and whether they are there. */
    @Path("nodes")
    public AppResource nodes() {
        return star("nodes");
    }

    /** How edges joined, their T_d and their faults. */
    @Path("members")
    public AppResource members() {
        return star("members");
    }

    /** Backlog, demand and grants by edge pair. */
    @Path("demand")
    public AppResource demand() {
        return star("demand");
    }

    /** The schedule in force as slot tables. */
    @Path("schedule")
    public AppResource schedule() {
        return star("schedule");
    }

    /** Counts and times. */
    @Path("statistics")
    public AppResource statistics() {
        return star("statistics");
    }

    /** The scheduler in use, its settings, and what else there is; what is chosen holds from the next frame that is scheduled. */
    @Path(StarResources.SCHEDULER)
    public AppResource scheduler() {
        return star(StarResources.SCHEDULER);
    }

    /** Which masters are shut down; one is shut down, or taken back. */
    @Path(StarResources.SHUTDOWN)
    public AppResource shutdown() {
        return star(StarResources.SHUTDOWN);
    }
}

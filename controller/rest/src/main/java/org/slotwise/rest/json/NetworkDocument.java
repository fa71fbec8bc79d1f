// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.ring.FairnessApp;
import org.slotwise.ring.RingNetwork;
import org.slotwise.routes.RoutedNetwork;
import org.slotwise.routes.RoutesApp;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.StarApp;
import org.slotwise.star.network.Network;
import org.slotwise.star.network.StarTopology;
import org.slotwise.star.schedule.InvalidSettingsException;
import org.slotwise.star.schedule.Schedulers;

/**
 * What a controller runs, in the form of {@code schema/network.schema.json}: {@code {"apps": {"star": ..., "routes": ..., "ring":
 * ...}}}, or a star alone.
 */
public final class NetworkDocument {
    private static final String APPS = "apps";

    private final Optional<Star> star;
    private final Optional<RoutedNetwork> routes;
    private final Optional<RingNetwork> ring;
    private final List<Node> nodes;

    /** A star and the scheduler to begin with. */
    public static final class Star {
        private final Network network;
        private final SchedulerChosen scheduler;

        private Star(Network network, SchedulerChosen scheduler) {
            this.network = network;
            this.scheduler = scheduler;
        }

        /** The network. */
        public Network network() {
            return network;
        }

        /** The scheduler to begin with. */
        public SchedulerChosen scheduler() {
            return scheduler;
        }
    }

    /** Throws {@link InvalidJsonException} if the applications cannot run side by side. */
    private NetworkDocument(String place, Optional<Star> star, Optional<RoutedNetwork> routes, Optional<RingNetwork> ring)
            throws InvalidJsonException {
        this.star = star;
        this.routes = routes;
        this.ring = ring;
        List<Topology> parts = new ArrayList<>();
        star.ifPresent(known -> parts.add(StarTopology.of(known.network)));
        routes.ifPresent(known -> parts.add(known.topology()));
        ring.ifPresent(known -> parts.add(known.topology()));
        try {
            // Applications that have one switch both want different programs on it.
            this.nodes = Topology.union(parts).nodes();
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(place, e.getMessage());
        }
    }

    /** Reads and checks all of it; {@code where} is its place in a larger document, or empty. */
    public static NetworkDocument decode(String where, JsonNode value, Schedulers schedulers) throws InvalidJsonException {
        JsonFields document = JsonFields.open(where, value);
        if (document.optional(APPS).isEmpty()) {
            return new NetworkDocument(where, Optional.of(star(where, value, schedulers)), Optional.empty(), Optional.empty());
        }
        JsonFields.of(where, value, APPS);
        String place = document.place(APPS);
        JsonFields apps = JsonFields.of(place, document.required(APPS), StarApp.ID, RoutesApp.ID, FairnessApp.ID);
        Optional<JsonNode> star = apps.optional(StarApp.ID);
        Optional<JsonNode> routes = apps.optional(RoutesApp.ID);
        Optional<JsonNode> ring = apps.optional(FairnessApp.ID);
        if (star.isEmpty() && routes.isEmpty() && ring.isEmpty()) {
            throw new InvalidJsonException(place, "there is no application");
        }
        return new NetworkDocument(place,
                star.isEmpty() ? Optional.empty() : Optional.of(star(apps.place(StarApp.ID), star.get(), schedulers)),
                routes.isEmpty() ? Optional.empty() : Optional.of(RoutesCodec.decode(apps.place(RoutesApp.ID), routes.get())),
                ring.isEmpty() ? Optional.empty() : Optional.of(RingCodec.decode(apps.place(FairnessApp.ID), ring.get())));
    }

    private static Star star(String where, JsonNode value, Schedulers schedulers) throws InvalidJsonException {
        Network network = NetworkCodec.decode(where, value);
        JsonFields fields = JsonFields.open(where, value);
        try {
            SchedulerChosen scheduler =
                    SchedulerCodec.decode(fields.place("scheduler"), fields.required("scheduler"), schedulers);
            scheduler.kind().checkEdges(scheduler.settings(), network.edges().size());
            return new Star(network, scheduler);
        } catch (InvalidSettingsException e) {
            throw new InvalidJsonException(fields.place("scheduler"), e.getMessage());
        }
    }

    /** All switches. */
    public List<Node> nodes() {
        return nodes;
    }

    /** The star, if there is one. */
    public Optional<Star> star() {
        return star;
    }

    /** The routers, if there are any. */
    public Optional<RoutedNetwork> routes() {
        return routes;
    }

    /** The packet ring, if there is one. */
    public Optional<RingNetwork> ring() {
        return ring;
    }
}

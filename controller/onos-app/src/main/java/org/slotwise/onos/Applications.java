// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.NetworkDocument;
import org.slotwise.ring.FairnessApp;
import org.slotwise.routes.RoutesApp;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.StarApp;
import org.slotwise.star.schedule.Schedulers;

/** The applications of one network, as long as a node runs them. */
final class Applications {
    private final Optional<StarApp> star;
    private final Optional<RoutesApp> routes;
    private final Optional<FairnessApp> ring;
    private final Optional<SchedulerChosen> configuredScheduler;
    private final AppHost host;

    private Applications(Optional<StarApp> star, Optional<RoutesApp> routes, Optional<FairnessApp> ring,
            Optional<SchedulerChosen> configuredScheduler) {
        this.star = star;
        this.routes = routes;
        this.ring = ring;
        this.configuredScheduler = configuredScheduler;
        List<App<?>> apps = new ArrayList<>();
        star.ifPresent(apps::add);
        routes.ifPresent(apps::add);
        ring.ifPresent(apps::add);
        this.host = new AppHost(apps);
    }

    /** Makes them, with the scheduler that was chosen; IllegalStateException if their configurations do not go together. */
    static Applications of(JsonNode configuration, SchedulerStore store) {
        NetworkDocument network;
        try {
            network = NetworkDocument.decode("", configuration, Schedulers.ours());
        } catch (InvalidJsonException e) {
            throw new IllegalStateException("the applications' configurations do not go together: " + e.getMessage(), e);
        }
        return new Applications(
                network.star().map(known -> StarApp.of(
                        known.network(), store.choice(known.scheduler()).orElse(known.scheduler()), System::nanoTime)),
                network.routes().map(RoutesApp::new), network.ring().map(FairnessApp::new), network.star().map(NetworkDocument.Star::scheduler));
    }

    /** The star, if the network has one. */
    Optional<StarApp> star() {
        return star;
    }

    /** The application of the routers, if the network has any. */
    Optional<RoutesApp> routes() {
        return routes;
    }

    /** The application of the packet ring, if there is one. */
    Optional<FairnessApp> ring() {
        return ring;
    }

    /** The star's scheduler as it is configured. */
    Optional<SchedulerChosen> configuredScheduler() {
        return configuredScheduler;
    }

    /** All of them, side by side. */
    AppHost host() {
        return host;
    }

    /** Their names. */
    List<String> names() {
        return host.apps().stream().map(App::id).collect(Collectors.toList());
    }
}

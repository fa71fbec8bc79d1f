// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Applications;
import org.slotwise.apps.CommitProtocol;
import org.slotwise.apps.Host;
import org.slotwise.apps.Hosted;
import org.slotwise.apps.NetworkDocument;
import org.slotwise.control.AppHost;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.ControllerService.NoSuchApplicationException;
import org.slotwise.rest.json.InvalidJsonException;

/** The applications of one configuration, as long as a node runs them. */
final class HostedApps {
    private final JsonNode configuration;
    private final List<Hosted<?>> apps;
    private final AppHost host;

    /** Makes them with what is kept of each, by its name; IllegalStateException if their configurations do not go together. */
    HostedApps(JsonNode configuration, Applications known, Function<String, AppState> kept) {
        this.configuration = configuration;
        try {
            this.apps = Hosted.all(NetworkDocument.decode("", configuration, known), kept);
        } catch (InvalidJsonException e) {
            throw new IllegalStateException("incompatible applications: " + e.getMessage(), e);
        }
        this.host = Hosted.sideBySide(apps);
    }

    /** What they were made of. */
    JsonNode configuration() {
        return configuration;
    }

    /** All of them, side by side. */
    AppHost host() {
        return host;
    }

    /** One of them; throws {@link NoSuchApplicationException}. */
    Hosted<?> find(String id) {
        return apps.stream().filter(app -> app.id().equals(id)).findFirst().orElseThrow(
                () -> new NoSuchApplicationException("no application " + id + " in this network; see GET /slotwise/v1/apps"));
    }

    /** Returns the protocols of applications that commit, by name. */
    Map<String, CommitProtocol> commits() {
        Map<String, CommitProtocol> commits = new LinkedHashMap<>();
        apps.forEach(app -> app.part().commits().ifPresent(protocol -> commits.put(app.id(), protocol)));
        return commits;
    }

    /** Their names. */
    List<String> names() {
        return apps.stream().map(Hosted::id).collect(Collectors.toList());
    }

    /** Their resources. */
    List<AppResources> resources(Host on) {
        return apps.stream().map(app -> app.resources(on)).collect(Collectors.toList());
    }

    /** Orders by application of what was chosen and is kept, in the order in which they are to be given. */
    Map<String, List<Event.Order>> chosen(Function<String, AppState> kept) {
        Map<String, List<Event.Order>> chosen = new LinkedHashMap<>();
        apps.forEach(app -> chosen.put(app.id(), app.part().kept(kept.apply(app.id()))));
        return chosen;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.ControllerService.NoSuchApplicationException;

/** Systems of one network, side by side, with the application that each is made of. */
public final class HostedSystems {
    private final Map<String, SystemPart<?>> parts;
    private final Map<String, App<?>> apps = new LinkedHashMap<>();
    private final AppHost host;

    /** Makes their applications, in their order; {@code stored} has what is stored of each, by its name. */
    public HostedSystems(NetworkDocument network, Function<String, AppState> stored) {
        this.parts = network.parts();
        parts.forEach((id, part) -> apps.put(id, made(id, part, stored.apply(id))));
        this.host = new AppHost(List.copyOf(apps.values()));
    }

    private static App<?> made(String id, SystemPart<?> part, AppState stored) {
        App<?> app = part.make(stored);
        if (!app.id().equals(id) || !part.id().equals(id)) {
            throw new IllegalStateException("system '" + id + "' has the names '" + part.id() + "' and '" + app.id() + "'");
        }
        return app;
    }

    /** Their applications, side by side; they belong to the thread of the host. */
    public AppHost host() {
        return host;
    }

    /** Their names, in order. */
    public List<String> names() {
        return List.copyOf(parts.keySet());
    }

    /**
     * The application of a system, whose part may have been read again since: the same name is the same kind. Throws
     * {@link NoSuchApplicationException} if none has its name.
     */
    @SuppressWarnings("unchecked")
    public <V> App<V> app(SystemPart<V> system) {
        return (App<V>) app(system.id());
    }

    /** The application of a name; throws {@link NoSuchApplicationException}. */
    public App<?> app(String id) {
        return Optional.ofNullable(apps.get(id)).orElseThrow(
                () -> new NoSuchApplicationException("no system " + id + " in this network; see GET /slotwise/v1"));
    }

    /** Their resources on a host. */
    public List<SystemResources<?>> resources(SystemHost on) {
        return parts.values().stream().map(part -> resources(part, on)).collect(Collectors.toList());
    }

    private static <V> SystemResources<V> resources(SystemPart<V> part, SystemHost on) {
        return new SystemResources<>(part, on);
    }

    /** Orders by system that apply what is stored, in the order of application. */
    public Map<String, List<Event.Order>> stored(Function<String, AppState> stored) {
        Map<String, List<Event.Order>> orders = new LinkedHashMap<>();
        parts.forEach((id, part) -> orders.put(id, part.stored(stored.apply(id))));
        return orders;
    }

    /** Protocols of systems that commit, by name. */
    public Map<String, CommitProtocol> commits() {
        Map<String, CommitProtocol> commits = new LinkedHashMap<>();
        parts.forEach((id, part) -> part.commits().ifPresent(protocol -> commits.put(id, protocol)));
        return commits;
    }
}

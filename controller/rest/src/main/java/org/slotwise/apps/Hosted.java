// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;

/**
 * An application that is made, with the part of the network that it was made of.
 *
 * @param <V> what it shows of itself
 */
public final class Hosted<V> {
    private final AppPart<V> part;
    private final App<V> app;

    private Hosted(String id, AppPart<V> part, AppState kept) {
        this.part = part;
        this.app = part.make(kept);
        if (!app.id().equals(id)) {
            throw new IllegalStateException("application '" + id + "' has the name '" + app.id() + "'");
        }
    }

    /** Makes all applications of a network, in their order; {@code kept} has what is kept of each, by its name. */
    public static List<Hosted<?>> all(NetworkDocument network, Function<String, AppState> kept) {
        List<Hosted<?>> all = new ArrayList<>();
        network.parts().forEach((id, part) -> all.add(new Hosted<>(id, part, kept.apply(id))));
        return all;
    }

    /** Side by side. */
    public static AppHost sideBySide(List<Hosted<?>> apps) {
        return new AppHost(apps.stream().map(Hosted::app).collect(Collectors.toList()));
    }

    /** Its name. */
    public String id() {
        return app.id();
    }

    /** What it was made of. */
    public AppPart<V> part() {
        return part;
    }

    /** The application, which belongs to the thread of the host. */
    public App<V> app() {
        return app;
    }

    /** What it shows and lets be changed, on this host. */
    public AppResources resources(Host host) {
        return part.resources(new Running<>() {
            @Override
            public V view() {
                return host.view(Hosted.this);
            }

            @Override
            public boolean takes(String what) {
                return host.takes(Hosted.this, what);
            }

            @Override
            public void order(Event.Order order) {
                host.order(Hosted.this, order);
            }

            @Override
            public void choose(Choice<V> choice) {
                host.choose(Hosted.this, choice);
            }
        });
    }
}

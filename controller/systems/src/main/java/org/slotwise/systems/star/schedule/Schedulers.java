// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** The schedulers that can be chosen: those that come with the controller, and a user's own. Immutable. */
public final class Schedulers {
    private static final Schedulers OURS = new Schedulers(found(Schedulers.class.getClassLoader()));

    private final List<SchedulerProvider> providers;
    private final Map<String, SchedulerKind> kinds = new LinkedHashMap<>();

    private Schedulers(List<SchedulerProvider> providers) {
        this.providers = providers;
        for (SchedulerProvider provider : providers) {
            SchedulerKind kind = new SchedulerKind(this, provider);
            if (kinds.put(kind.title(), kind) != null) {
                throw new IllegalArgumentException("duplicate scheduler '" + kind.title() + "'");
            }
        }
    }

    /** Those that come with the controller. */
    public static Schedulers ours() {
        return OURS;
    }

    /**
     * Those that {@code META-INF/services} names where a class loader looks, without those of its parents. Throws
     * {@link ServiceConfigurationError} for one that cannot be made.
     */
    public static List<SchedulerProvider> found(ClassLoader loader) {
        List<SchedulerProvider> found = new ArrayList<>();
        for (SchedulerProvider provider : ServiceLoader.load(SchedulerProvider.class, loader)) {
            if (provider.getClass().getClassLoader() == loader) {
                found.add(provider);
            }
        }
        return found;
    }

    /** These and others. Throws IllegalArgumentException if two have one name, or one has a name that users cannot write. */
    public Schedulers with(Collection<? extends SchedulerProvider> others) {
        List<SchedulerProvider> all = new ArrayList<>(providers);
        all.addAll(others);
        return new Schedulers(List.copyOf(all));
    }

    /** All of them, in order. */
    public List<SchedulerKind> all() {
        return List.copyOf(kinds.values());
    }

    /** Finds a scheduler by its title. */
    public SchedulerKind named(String title) throws InvalidSettingsException {
        SchedulerKind kind = kinds.get(title);
        if (kind == null) {
            throw new InvalidSettingsException(
                    "unknown scheduler '" + title + "'; expected one of " + String.join(", ", kinds.keySet()));
        }
        return kind;
    }
}

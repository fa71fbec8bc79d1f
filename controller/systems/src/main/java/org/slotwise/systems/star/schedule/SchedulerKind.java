// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slotwise.systems.star.demand.DemandEstimator;
import org.slotwise.systems.star.model.CorePorts;

/** A scheduler that can be chosen, and what can be set in it; of one {@link Schedulers}. */
public final class SchedulerKind {
    /** Name of the setting, common to all, for how demand is forecast. */
    public static final String ESTIMATOR = "estimator";
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]{0,63}");

    private final Schedulers catalogue;
    private final SchedulerProvider provider;
    private final String title;
    private final String description;
    private final List<Setting> settings;
    private final boolean runsElsewhere;

    /** Throws IllegalArgumentException if the provider has a name that users cannot write, or two settings of one name. */
    SchedulerKind(Schedulers catalogue, SchedulerProvider provider) {
        this.catalogue = catalogue;
        this.provider = provider;
        this.title = provider.name();
        if (!NAME.matcher(title).matches()) {
            throw new IllegalArgumentException("invalid scheduler name '" + title + "'; expected at most 64 lower-case letters,"
                    + " digits and hyphens");
        }
        this.description = Objects.requireNonNull(provider.description());
        this.runsElsewhere = provider.runsElsewhere();
        List<Setting> all = new ArrayList<>(provider.settings());
        all.add(Setting.choice(ESTIMATOR, "Demand forecast until the schedule is active: short moving"
                + " average, last value, or linear trend.", DemandEstimator.values()));
        this.settings = List.copyOf(all);
        Set<String> names = new HashSet<>();
        for (Setting setting : settings) {
            if (!names.add(setting.name())) {
                throw new IllegalArgumentException("scheduler '" + title + "': duplicate setting '" + setting.name() + "'");
            }
        }
    }

    /** All that could be chosen instead, and this. */
    public Schedulers catalogue() {
        return catalogue;
    }

    /** Whether schedules come from outside this process. */
    public boolean runsElsewhere() {
        return runsElsewhere;
    }

    /** Checks {@code given} and completes it with defaults. */
    public Map<String, String> completeSettings(Map<String, String> given) throws InvalidSettingsException {
        Map<String, String> complete = new TreeMap<>();
        for (Setting setting : settings) {
            String value = given.getOrDefault(setting.name(), setting.defaultValue());
            try {
                setting.check(value);
            } catch (InvalidSettingsException e) {
                throw new InvalidSettingsException(
                        "setting '" + setting.name() + "' of scheduler '" + title + "': " + e.getMessage());
            }
            complete.put(setting.name(), value);
        }
        for (String name : given.keySet()) {
            if (!complete.containsKey(name)) {
                throw new InvalidSettingsException("scheduler '" + title + "': unknown setting '" + name + "'; expected one of "
                        + settings.stream().map(Setting::name).collect(Collectors.joining(", ")));
            }
        }
        return Collections.unmodifiableMap(complete);
    }

    /** Refuses settings that {@link #completeSettings} gave if they name an edge that a network of so many does not have. */
    public void checkEdges(Map<String, String> values, int edges) throws InvalidSettingsException {
        for (Setting setting : settings) {
            if (setting.type() == Setting.Type.RULES) {
                int highest = PairWeights.parse(values.get(setting.name())).highestEdge();
                if (highest >= edges) {
                    throw new InvalidSettingsException("setting '" + setting.name() + "' of scheduler '" + title + "': unknown edge "
                            + highest + "; expected 0 .. " + (edges - 1));
                }
            }
        }
    }

    /** Makes the scheduler of edges with a port each, from settings that {@link #completeSettings} gave. */
    public Scheduler create(Map<String, String> values) {
        Scheduler scheduler = Objects.requireNonNull(
                withoutInterrupt(() -> provider.create(new SchedulerSettings(values))), "the provider returned no scheduler");
        return (demand, current) -> withoutInterrupt(() -> scheduler.schedule(demand, current));
    }

    /** Whatever somebody's code does to the thread that it is lent, that is not interrupted afterwards by it. */
    private static <T> T withoutInterrupt(Supplier<T> code) {
        boolean before = Thread.currentThread().isInterrupted();
        try {
            return code.get();
        } finally {
            if (!before) {
                Thread.interrupted();
            }
        }
    }

    /** Makes the scheduler from settings that {@link #completeSettings} gave, for edges that may share ports of the core. */
    public Scheduler create(Map<String, String> values, CorePorts ports) {
        if (!ports.areShared()) {
            return create(values);
        }
        Map<String, String> ofPorts = new TreeMap<>(values);
        for (Setting setting : settings) {
            if (setting.type() == Setting.Type.RULES) {
                ofPorts.put(setting.name(), setting.defaultValue());
            }
        }
        return new SharedPortScheduler(ports, shares(values, ports), create(ofPorts));
    }

    private Optional<IntFunction<FairShare>> shares(Map<String, String> values, CorePorts ports) {
        SchedulerSettings given = new SchedulerSettings(values);
        return provider instanceof SharesFairly
                ? Optional.of(slots -> ((SharesFairly) provider).shares(given, ports, slots)) : Optional.empty();
    }

    /** How demand is forecast, from settings that {@link #completeSettings} gave. */
    public static DemandEstimator estimator(Map<String, String> values) {
        return new SchedulerSettings(values).choice(ESTIMATOR, DemandEstimator.class);
    }

    /** Name that users write. */
    public String title() {
        return title;
    }

    /** One sentence. */
    public String description() {
        return description;
    }

    /** What can be set. */
    public List<Setting> settings() {
        return settings;
    }

    @Override
    public String toString() {
        return title;
    }
}

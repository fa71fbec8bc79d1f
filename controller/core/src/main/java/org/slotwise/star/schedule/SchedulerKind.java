// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.slotwise.star.demand.DemandEstimator;
import org.slotwise.star.network.CorePorts;
import org.slotwise.star.schedule.FairShare.Share;

/** The schedulers that there are, and what can be set in each. */
public enum SchedulerKind {
    /** Weighted max-min fair by demand. */
    FAIR("fair", "Slots by demand, weighted max-min fair; spare slots go to all. Exact: what fits is granted.",
            List.of(
                    Setting.choice("share",
                            "Contended slots are shared by weight, or by weight times what was asked for.",
                            Share.values()),
                    Setting.choice("order", "An edge pair's slots are spread over the frame, or contiguous.",
                            SlotOrder.values()),
                    weights()),
            values -> new FairScheduler(values.choice("share", Share.class), values.choice("order", SlotOrder.class),
                    values.weights())),
    /** iSLIP. */
    ISLIP("islip", "Slot by slot by iSLIP: round-robin grants and accepts.", List.of(iterations()),
            values -> new SlotBySlotScheduler(new IslipMatcher(values.integer("iterations")))),
    /** Parallel iterative matching. */
    PIM("pim", "Slot by slot by parallel iterative matching: random grants and accepts.",
            List.of(iterations(), Setting.integer("seed", "Seed of the random choices.", 0, 999_999_999, 1)),
            values -> new SlotBySlotScheduler(new PimMatcher(values.integer("iterations"), values.integer("seed")))),
    /** Maximum-weight matching. */
    MAXIMUM_WEIGHT("maximum-weight", "Slot by slot by maximum-weight matching of what is left times its age.",
            List.of(), values -> new SlotBySlotScheduler(new MaximumWeightMatcher())),
    /** Few long configurations. */
    SOLSTICE("solstice", "Fair shares in few configurations that last long, as Solstice makes them.",
            List.of(Setting.integer("dark_slots", "Slots that stay dark while the core reconfigures.", 0, 64, 0),
                    weights()),
            values -> new SolsticeScheduler(values.integer("dark_slots"), values.weights())),
    /** Fixed rotation. */
    ROTATION("rotation", "Each edge sends to all others in turn, whatever the demand.",
            List.of(), values -> new RotationScheduler());

    /** Name of the setting, common to all, for how demand is forecast. */
    public static final String ESTIMATOR = "estimator";
    private static final String WEIGHTS = "weights";

    private final String title;
    private final String description;
    private final List<Setting> settings;
    private final Function<Values, Scheduler> factory;

    SchedulerKind(String title, String description, List<Setting> own, Function<Values, Scheduler> factory) {
        this.title = title;
        this.description = description;
        List<Setting> all = new ArrayList<>(own);
        all.add(Setting.choice("estimator", "What will come until the schedule is in force is forecast by a short"
                + " average, by what came last, or along the trend.", DemandEstimator.values()));
        this.settings = List.copyOf(all);
        this.factory = factory;
    }

    private static Setting iterations() {
        return Setting.integer("iterations", "Rounds of request, grant and accept for a slot.", 1, 16, 4);
    }

    private static Setting weights() {
        return Setting.rules("weights", "Rules 'sender>receiver=weight', separated by commas, the last that fits counts."
                + " Edges are places in the order of their numbers, from 0, or *; weights are 1 .. "
                + PairWeights.MAX_WEIGHT + ", and 'first' puts a pair into the class served before all others.");
    }

    /** Complete and checked values. */
    private static final class Values {
        private final Map<String, String> texts;

        Values(Map<String, String> texts) {
            this.texts = texts;
        }

        int integer(String name) {
            return Integer.parseInt(texts.get(name));
        }

        <E extends Enum<E>> E choice(String name, Class<E> type) {
            return Enum.valueOf(type, texts.get(name).toUpperCase(Locale.ROOT));
        }

        PairWeights weights() {
            try {
                return PairWeights.parse(texts.get(WEIGHTS));
            } catch (InvalidSettingsException e) {
                throw new IllegalArgumentException(e);
            }
        }
    }

    /** Finds a scheduler by its title. */
    public static SchedulerKind named(String title) throws InvalidSettingsException {
        for (SchedulerKind kind : values()) {
            if (kind.title.equals(title)) {
                return kind;
            }
        }
        throw new InvalidSettingsException("there is no scheduler '" + title + "'; there are "
                + Arrays.stream(values()).map(SchedulerKind::title).collect(Collectors.joining(", ")));
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
                        "setting '" + setting.name() + "' of scheduler '" + title + "' " + e.getMessage());
            }
            complete.put(setting.name(), value);
        }
        for (String name : given.keySet()) {
            if (!complete.containsKey(name)) {
                throw new InvalidSettingsException("scheduler '" + title + "' has no setting '" + name + "'; it has "
                        + settings.stream().map(Setting::name).collect(Collectors.joining(", ")));
            }
        }
        return Collections.unmodifiableMap(complete);
    }

    /** Refuses settings that {@link #completeSettings} gave if they name an edge that a network of so many does not have. */
    public void checkEdges(Map<String, String> values, int edges) throws InvalidSettingsException {
        if (values.containsKey(WEIGHTS)) {
            int highest = new Values(values).weights().highestEdge();
            if (highest >= edges) {
                throw new InvalidSettingsException("setting '" + WEIGHTS + "' of scheduler '" + title + "' names edge "
                        + highest + "; there are edges 0 .. " + (edges - 1));
            }
        }
    }

    /** Makes the scheduler of edges with a port each, from settings that {@link #completeSettings} gave. */
    public Scheduler create(Map<String, String> values) {
        return factory.apply(new Values(values));
    }

    /** Makes the scheduler from settings that {@link #completeSettings} gave, for edges that may share ports of the core. */
    public Scheduler create(Map<String, String> values, CorePorts ports) {
        if (!ports.areShared()) {
            return create(values);
        }
        Map<String, String> ofPorts = new TreeMap<>(values);
        ofPorts.computeIfPresent(WEIGHTS, (name, ofEdges) -> "");
        return new SharedPortScheduler(ports, shares(new Values(values), ports), create(ofPorts));
    }

    /** Fair shares of edge pairs, of a scheduler that shares fairly. */
    private Optional<IntFunction<FairShare>> shares(Values values, CorePorts ports) {
        switch (this) {
            case FAIR:
                return Optional.of(slots -> new FairShare(ports, slots, values.choice("share", Share.class),
                        values.weights().forEdges(ports.edges()), true));
            case SOLSTICE:
                return Optional.of(slots -> new FairShare(ports, slots, Share.EQUAL,
                        values.weights().forEdges(ports.edges()), false));
            default:
                return Optional.empty();
        }
    }

    /** How demand is forecast, from settings that {@link #completeSettings} gave. */
    public static DemandEstimator estimator(Map<String, String> values) {
        return new Values(values).choice(ESTIMATOR, DemandEstimator.class);
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
}

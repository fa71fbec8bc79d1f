// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slotwise.core.schedule.FairShare.Share;

/** The schedulers that there are, and what can be set in each. */
public enum SchedulerKind {
    /** Weighted max-min fair by demand. */
    FAIR("fair", "Slots by demand, max-min fair; spare slots go evenly to all.",
            List.of(
                    new Setting("share", "Contended slots are shared equally, or in proportion to what was asked for.",
                            names(Share.values())),
                    new Setting("order", "An edge pair's slots are spread over the frame, or contiguous.",
                            names(SlotOrder.values()))),
            values -> new FairScheduler(
                    Share.valueOf(values.get("share").toUpperCase(Locale.ROOT)),
                    SlotOrder.valueOf(values.get("order").toUpperCase(Locale.ROOT)), PairWeights.ALIKE)),
    /** Fixed rotation. */
    ROTATION("rotation", "Each edge sends to all others in turn, whatever the demand.",
            List.of(), values -> new RotationScheduler());

    private final String title;
    private final String description;
    private final List<Setting> settings;
    private final Function<Map<String, String>, Scheduler> factory;

    SchedulerKind(String title, String description, List<Setting> settings,
            Function<Map<String, String>, Scheduler> factory) {
        this.title = title;
        this.description = description;
        this.settings = settings;
        this.factory = factory;
    }

    /** One setting: its name, what it does, and the values it can have; the first is the default. */
    public static final class Setting {
        private final String name;
        private final String description;
        private final List<String> values;

        private Setting(String name, String description, List<String> values) {
            this.name = name;
            this.description = description;
            this.values = values;
        }

        /** Name. */
        public String name() {
            return name;
        }

        /** What it does. */
        public String description() {
            return description;
        }

        /** Values that it can have; the first is the default. */
        public List<String> values() {
            return values;
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
            String value = given.getOrDefault(setting.name, setting.values.get(0));
            if (!setting.values.contains(value)) {
                throw new InvalidSettingsException("setting '" + setting.name + "' of scheduler '" + title
                        + "' must be one of " + String.join(", ", setting.values) + ", got '" + value + "'");
            }
            complete.put(setting.name, value);
        }
        for (String name : given.keySet()) {
            if (!complete.containsKey(name)) {
                String known = settings.isEmpty() ? "it has none"
                        : "it has " + settings.stream().map(Setting::name).collect(Collectors.joining(", "));
                throw new InvalidSettingsException(
                        "scheduler '" + title + "' has no setting '" + name + "'; " + known);
            }
        }
        return Collections.unmodifiableMap(complete);
    }

    /** Makes the scheduler from settings that {@link #completeSettings} gave. */
    public Scheduler create(Map<String, String> settings) {
        return factory.apply(settings);
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

    private static List<String> names(Enum<?>[] constants) {
        return Arrays.stream(constants).map(constant -> constant.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.toUnmodifiableList());
    }
}

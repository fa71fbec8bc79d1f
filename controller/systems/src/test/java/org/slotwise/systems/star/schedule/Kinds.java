// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;

/** The schedulers that come with the controller, by name. */
public final class Kinds {
    /** Weighted max-min fair. */
    public static final SchedulerKind FAIR = named("fair");
    /** iSLIP. */
    public static final SchedulerKind ISLIP = named("islip");
    /** Parallel iterative matching. */
    public static final SchedulerKind PIM = named("pim");
    /** Maximum-weight matching. */
    public static final SchedulerKind MAXIMUM_WEIGHT = named("maximum-weight");
    /** Few long configurations. */
    public static final SchedulerKind SOLSTICE = named("solstice");
    /** Fixed rotation. */
    public static final SchedulerKind ROTATION = named("rotation");

    private Kinds() {
    }

    private static SchedulerKind named(String name) {
        try {
            return Schedulers.ours().named(name);
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
    }

    /** Any of them. */
    static Arbitrary<SchedulerKind> any() {
        return Arbitraries.of(Schedulers.ours().all());
    }
}

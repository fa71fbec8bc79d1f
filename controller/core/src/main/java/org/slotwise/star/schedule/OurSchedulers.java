// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import java.util.List;
import org.slotwise.star.network.CorePorts;

/** The schedulers that come with the controller; {@code META-INF/services} names them. */
public final class OurSchedulers {
    private static final String ITERATIONS = "iterations";
    private static final String SHARE = "share";

    private OurSchedulers() {
    }

    private static Setting iterations() {
        return Setting.integer(ITERATIONS, "Rounds of request, grant and accept for a slot.", 1, 16, 4);
    }

    private static Setting weights() {
        return Setting.rules(SchedulerSettings.WEIGHTS,
                "Rules 'sender>receiver=weight', separated by commas, the last that fits counts."
                        + " Edges are places in the order of their numbers, from 0, or *; weights are 1 .. "
                        + PairWeights.MAX_WEIGHT + ", and 'first' puts a pair into the class served before all others.");
    }

    /** Weighted max-min fair by demand. */
    public static final class Fair implements SharesFairly {
        @Override
        public String name() {
            return "fair";
        }

        @Override
        public String description() {
            return "Slots by demand, weighted max-min fair; spare slots go to all. Exact: what fits is granted.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(
                    Setting.choice(SHARE, "Contended slots are shared by weight, or by weight times what was asked for.",
                            FairShare.Share.values()),
                    Setting.choice("order", "An edge pair's slots are spread over the frame, or contiguous.",
                            SlotOrder.values()),
                    weights());
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new FairScheduler(settings.choice(SHARE, FairShare.Share.class), settings.choice("order", SlotOrder.class),
                    settings.weights());
        }

        @Override
        public FairShare shares(SchedulerSettings settings, CorePorts ports, int slots) {
            return new FairShare(ports, slots, settings.choice(SHARE, FairShare.Share.class),
                    settings.weights().forEdges(ports.edges()), true);
        }
    }

    /** iSLIP. */
    public static final class Islip implements SchedulerProvider {
        @Override
        public String name() {
            return "islip";
        }

        @Override
        public String description() {
            return "Slot by slot by iSLIP: round-robin grants and accepts.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(iterations());
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new SlotBySlotScheduler(new IslipMatcher(settings.integer(ITERATIONS)));
        }
    }

    /** Parallel iterative matching. */
    public static final class Pim implements SchedulerProvider {
        private static final String SEED = "seed";

        @Override
        public String name() {
            return "pim";
        }

        @Override
        public String description() {
            return "Slot by slot by parallel iterative matching: random grants and accepts.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(iterations(), Setting.integer(SEED, "Seed of the random choices.", 0, 999_999_999, 1));
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new SlotBySlotScheduler(new PimMatcher(settings.integer(ITERATIONS), settings.integer(SEED)));
        }
    }

    /** Maximum-weight matching. */
    public static final class MaximumWeight implements SchedulerProvider {
        @Override
        public String name() {
            return "maximum-weight";
        }

        @Override
        public String description() {
            return "Slot by slot by maximum-weight matching of what is left times its age.";
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new SlotBySlotScheduler(new MaximumWeightMatcher());
        }
    }

    /** Few long configurations. */
    public static final class Solstice implements SharesFairly {
        private static final String DARK_SLOTS = "dark_slots";

        @Override
        public String name() {
            return "solstice";
        }

        @Override
        public String description() {
            return "Fair shares in few configurations that last long, as Solstice makes them.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(Setting.integer(DARK_SLOTS, "Slots that stay dark while the core reconfigures.", 0, 64, 0), weights());
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new SolsticeScheduler(settings.integer(DARK_SLOTS), settings.weights());
        }

        @Override
        public FairShare shares(SchedulerSettings settings, CorePorts ports, int slots) {
            return new FairShare(ports, slots, FairShare.Share.EQUAL, settings.weights().forEdges(ports.edges()), false);
        }
    }

    /** Fixed rotation. */
    public static final class Rotation implements SchedulerProvider {
        @Override
        public String name() {
            return "rotation";
        }

        @Override
        public String description() {
            return "Each edge sends to all others in turn, whatever the demand.";
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new RotationScheduler();
        }
    }
}

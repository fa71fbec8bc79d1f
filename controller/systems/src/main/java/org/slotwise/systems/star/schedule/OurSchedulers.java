// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.List;
import org.slotwise.systems.star.model.CorePorts;

/** The schedulers that come with the controller; {@code META-INF/services} names them. */
public final class OurSchedulers {
    private static final String ITERATIONS = "iterations";
    private static final String SHARE = "share";

    private OurSchedulers() {
    }

    private static Setting iterations() {
        return Setting.integer(ITERATIONS, "Iterations of request, grant and accept per slot.", 1, 16, 4);
    }

    private static Setting weights() {
        return Setting.rules(SchedulerSettings.WEIGHTS,
                "Rules 'sender>receiver=weight', separated by commas; the last matching rule applies."
                        + " Edges are counted from 0 in the order of their numbers, * is any edge; weights are 1 .. "
                        + PairWeights.MAX_WEIGHT + ", 'first' gives a pair strict priority.");
    }

    /** Weighted max-min fair by demand. */
    public static final class Fair implements SharesFairly {
        @Override
        public String name() {
            return "fair";
        }

        @Override
        public String description() {
            return "Weighted max-min fair slots by demand; spare slots are shared by all. Exact: every feasible demand is granted.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(
                    Setting.choice(SHARE, "Sharing of contended slots: by weight, or by weight times demand.",
                            FairShare.Share.values()),
                    Setting.choice("order", "Placement of an edge pair's slots: spread over the frame, or contiguous.",
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
            return "iSLIP, slot by slot: round-robin grants and accepts.";
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
            return "Parallel iterative matching, slot by slot: random grants and accepts.";
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
            return "Maximum-weight matching, slot by slot; weight: remaining demand times its age.";
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
            return "Solstice: fair shares in few, long-lasting configurations.";
        }

        @Override
        public List<Setting> settings() {
            return List.of(Setting.integer(DARK_SLOTS, "Idle slots per reconfiguration of the core.", 0, 64, 0), weights());
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
            return "Round robin: each edge sends to all others in turn, independent of demand.";
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return new RotationScheduler();
        }
    }
}

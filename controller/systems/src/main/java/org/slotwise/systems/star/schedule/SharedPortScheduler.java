// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import org.slotwise.systems.star.model.CorePorts;

/**
 * Any scheduler where edges share ports of the core. It knows ports only, and what their edges want together; the slots
 * that it gives a pair of ports are then dealt to their edges, max-min fair in whole slots, and what does not come out
 * even goes to another pair of edges each time. An edge pair keeps its slots as long as it may.
 *
 * <p>A scheduler that shares fairly would be fair to ports. So what edges want is made fair before: weighted max-min
 * over edge pairs, classes one after the other, within what ports can carry, which an exact scheduler then serves whole.
 */
final class SharedPortScheduler implements Scheduler {
    private final CorePorts ports;
    private final PortLines lines;
    private final Optional<IntFunction<FairShare>> shares;
    private final Scheduler scheduler;
    private final EdgePairs[][] pairs;
    private int slots;
    private FairShare fair;
    /** The last schedule, and that of the ports from which it was made. */
    private FrameSchedule last;
    private FrameSchedule lastOfPorts;

    /** Takes fair shares by the data slots of a frame, if there are any, and what schedules ports. */
    SharedPortScheduler(CorePorts ports, Optional<IntFunction<FairShare>> shares, Scheduler scheduler) {
        this.ports = ports;
        this.lines = new PortLines(ports);
        this.shares = shares;
        this.scheduler = scheduler;
        this.pairs = new EdgePairs[ports.count()][ports.count()];
        for (int from = 0; from < pairs.length; from++) {
            for (int to = 0; to < pairs.length; to++) {
                pairs[from][to] = new EdgePairs(ports, from, to);
            }
        }
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        int[][] wanted = shares.isPresent() ? share(demandSlots, current.slots()) : demandSlots;
        FrameSchedule before = current.equals(last) ? lastOfPorts : lines.fold(current);
        lastOfPorts = scheduler.schedule(lines.sums(wanted), before);
        last = deal(wanted, current);
        return last;
    }

    private int[][] share(int[][] demandSlots, int dataSlots) {
        if (fair == null || slots != dataSlots) {
            slots = dataSlots;
            fair = shares.orElseThrow().apply(slots);
        }
        return new Square(ports.edges()).unflatten(fair.allocate(demandSlots));
    }

    private FrameSchedule deal(int[][] wanted, FrameSchedule current) {
        FrameSchedule.Builder dealt = new FrameSchedule.Builder(ports.edges(), current.slots());
        int[][] receivers = lines.receivers(lastOfPorts);
        for (int from = 0; from < pairs.length; from++) {
            List<List<Integer>> slotsTo = new ArrayList<>();
            for (int to = 0; to < pairs.length; to++) {
                slotsTo.add(new ArrayList<>());
            }
            for (int slot = 0; slot < receivers.length; slot++) {
                if (receivers[slot][from] != FrameSchedule.NONE) {
                    slotsTo.get(receivers[slot][from]).add(slot);
                }
            }
            for (int to = 0; to < pairs.length; to++) {
                if (!slotsTo.get(to).isEmpty()) {
                    pairs[from][to].deal(slotsTo.get(to), wanted, current, dealt);
                }
            }
        }
        return dealt.build();
    }

    /** The edge pairs of two ports, or of one. */
    private static final class EdgePairs {
        private final int[] from;
        private final int[] to;
        private final int[] granted;
        /** Who is next when slots do not come out even. */
        private int turn;

        EdgePairs(CorePorts ports, int sender, int receiver) {
            int most = ports.edgesAt(sender) * ports.edgesAt(receiver);
            int[] froms = new int[most];
            int[] tos = new int[most];
            int count = 0;
            for (int k = 0; k < most; k++) {
                froms[count] = ports.edgeAt(sender, k / ports.edgesAt(receiver));
                tos[count] = ports.edgeAt(receiver, k % ports.edgesAt(receiver));
                count += froms[count] == tos[count] ? 0 : 1;
            }
            this.from = Arrays.copyOf(froms, count);
            this.to = Arrays.copyOf(tos, count);
            this.granted = new int[count];
        }

        void deal(List<Integer> slots, int[][] wanted, FrameSchedule current, FrameSchedule.Builder dealt) {
            grant(slots.size(), wanted);
            List<Integer> open = new ArrayList<>();
            for (int slot : slots) {
                int pair = pairIn(current, slot);
                if (pair >= 0 && granted[pair] > 0) {
                    granted[pair]--;
                    dealt.connect(slot, from[pair], to[pair]);
                } else {
                    open.add(slot);
                }
            }
            // In turn, so that the slots of a pair are spread over the frame.
            int pair = granted.length - 1;
            for (int slot : open) {
                do {
                    pair = (pair + 1) % granted.length;
                } while (granted[pair] == 0);
                granted[pair]--;
                dealt.connect(slot, from[pair], to[pair]);
            }
        }

        /** One by one to the pair that has least of those that want more, then of all. */
        private void grant(int count, int[][] wanted) {
            Arrays.fill(granted, 0);
            boolean anyWants = true;
            for (int left = count; left > 0; left--) {
                int next = anyWants ? poorest(turn, wanted) : -1;
                if (next < 0) {
                    anyWants = false;
                    next = poorest(0, null);
                } else if (left == 1) {
                    turn = (next + 1) % granted.length;
                }
                granted[next]++;
            }
        }

        /** Of all if {@code wanted} is null; of equal ones the first from {@code first} on; -1 if there is none. */
        private int poorest(int first, int[][] wanted) {
            int best = -1;
            for (int k = 0; k < granted.length; k++) {
                int pair = (first + k) % granted.length;
                boolean counts = wanted == null || granted[pair] < wanted[from[pair]][to[pair]];
                if (counts && (best < 0 || granted[pair] < granted[best])) {
                    best = pair;
                }
            }
            return best;
        }

        private int pairIn(FrameSchedule schedule, int slot) {
            for (int pair = 0; pair < from.length; pair++) {
                if (schedule.output(slot, from[pair]) == to[pair]) {
                    return pair;
                }
            }
            return -1;
        }
    }
}

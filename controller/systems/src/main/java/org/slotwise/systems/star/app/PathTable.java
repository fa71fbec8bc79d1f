// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.CorePorts;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.tables.OverlayRules;
import org.slotwise.wire.WireConstants;

/**
 * Which star carries each part of each edge pair's traffic, chosen by least load. Deterministic. The load of a line (all
 * that a port of a core, which edges may share, sends, or receives) is the slots that it wants a frame; what a single part
 * wants is not known, so a pair's parts in one star count alike.
 *
 * <p>Each part has a home, and is elsewhere only while its home fails.
 */
final class PathTable implements OverlayRules.Paths {
    /** Loads are in units of 2^-8 slot. */
    private static final int FRACTION_BITS = 8;
    /** A load follows a quarter of each change. */
    private static final int SMOOTHING = 4;
    private static final int PARTS = WireConstants.SHARES;

    private final Network network;
    private final List<Network> stars;
    private final int edges;
    /** Lines of a pair that differ by less, between two stars, are left as they are. */
    private final long threshold;
    /** By pair: the stars in which both edges are. */
    private final int[][] common;
    private final byte[][] home;
    private final byte[][] at;
    /** Bytes that one slot carries, by star and sender; 0 where there is no fibre. */
    private final long[][] slotBytes;
    /** By star and edge: the first edge of its port. Loads of lines are kept under that one. */
    private final int[][] lineOf;
    /** By star and pair. */
    private final long[][] wanted;
    private final long[][] rowLoad;
    private final long[][] columnLoad;

    /** Deals each pair's parts evenly, by what the sender's fibres carry. */
    PathTable(Network network) {
        this.network = network;
        this.stars = network.stars();
        this.edges = network.edges().size();
        this.threshold = Math.max(1L << FRACTION_BITS, ((long) network.dataSlots() << FRACTION_BITS) / 4);
        this.common = new int[edges * edges][];
        this.home = new byte[edges * edges][PARTS];
        this.at = new byte[edges * edges][PARTS];
        this.slotBytes = new long[stars.size()][edges];
        this.lineOf = new int[stars.size()][edges];
        this.wanted = new long[stars.size()][edges * edges];
        this.rowLoad = new long[stars.size()][edges];
        this.columnLoad = new long[stars.size()][edges];
        for (int star = 0; star < stars.size(); star++) {
            List<Edge> attached = stars.get(star).edges();
            CorePorts ports = stars.get(star).corePorts();
            for (int index = 0; index < attached.size(); index++) {
                Edge first = attached.get(ports.edgeAt(ports.portOf(index), 0));
                lineOf[star][place(attached.get(index))] = place(first);
                slotBytes[star][place(attached.get(index))] = stars.get(star).slotPayloadBytes(attached.get(index));
            }
        }
        for (int pair = 0; pair < common.length; pair++) {
            common[pair] = commonStars(pair);
            if (common[pair].length > 0) {
                deal(pair);
            }
        }
    }

    private int place(Edge edge) {
        return network.indexOf(edge.id()).orElseThrow();
    }

    private int[] commonStars(int pair) {
        List<Integer> both = new ArrayList<>();
        for (int star = 0; star < stars.size(); star++) {
            if (from(pair) != to(pair) && slotBytes[star][from(pair)] > 0 && slotBytes[star][to(pair)] > 0) {
                both.add(star);
            }
        }
        return both.stream().mapToInt(Integer::intValue).toArray();
    }

    /** What is left over when parts do not come out even goes to another star for each pair. */
    private void deal(int pair) {
        int[] counts = new int[stars.size()];
        int first = (from(pair) + to(pair)) % common[pair].length;
        for (int part = 0; part < PARTS; part++) {
            int best = common[pair][first];
            for (int k = 1; k < common[pair].length; k++) {
                int star = common[pair][(first + k) % common[pair].length];
                long now = (counts[best] + 1) * slotBytes[star][from(pair)];
                long then = (counts[star] + 1) * slotBytes[best][from(pair)];
                best = then < now ? star : best;
            }
            counts[best]++;
            home[pair][part] = (byte) best;
            at[pair][part] = (byte) best;
        }
    }

    @Override
    public CoreId core(int from, int to, int part) {
        return stars.get(at[from * edges + to][part]).core().id();
    }

    /** Parts of a pair's traffic by star. */
    int[] parts(int from, int to) {
        int[] counts = new int[stars.size()];
        for (int part = 0; common[from * edges + to].length > 0 && part < PARTS; part++) {
            counts[at[from * edges + to][part]]++;
        }
        return counts;
    }

    /** Slots a frame that the busiest line of a star wants, rounded up. */
    long loadSlots(int star) {
        long most = 0;
        for (int edge = 0; edge < edges; edge++) {
            most = Math.max(most, Math.max(rowLoad[star][edge], columnLoad[star][edge]));
        }
        return most + (1 << FRACTION_BITS) - 1 >> FRACTION_BITS;
    }

    /** Takes what is wanted now: slots a frame by star and pair (from * edges + to). */
    void want(int[][] slots) {
        for (int star = 0; star < wanted.length; star++) {
            for (int pair = 0; pair < common.length; pair++) {
                long change = ((long) slots[star][pair] << FRACTION_BITS) - wanted[star][pair];
                add(star, pair, change / SMOOTHING == 0 ? change : change / SMOOTHING);
            }
        }
    }

    private void add(int star, int pair, long load) {
        wanted[star][pair] += load;
        rowLoad[star][lineOf[star][from(pair)]] += load;
        columnLoad[star][lineOf[star][to(pair)]] += load;
    }

    /**
     * Moves parts out of stars that fail, all at once, and one part of each pair back home where that is well again.
     *
     * @param usable by star and edge
     * @return edges whose traffic moved
     */
    BitSet follow(boolean[][] usable) {
        BitSet moved = new BitSet();
        for (int pair = 0; pair < common.length; pair++) {
            boolean broughtHome = false;
            for (int part = 0; common[pair].length > 1 && part < PARTS; part++) {
                int star = at[pair][part];
                if (!isUsable(usable, star, pair)) {
                    int other = leastLoaded(usable, pair, star);
                    moved.set(from(pair), moved.get(from(pair)) || other != star);
                    move(pair, part, other);
                } else if (home[pair][part] != star && !broughtHome && isUsable(usable, home[pair][part], pair)) {
                    move(pair, part, home[pair][part]);
                    broughtHome = true;
                    moved.set(from(pair));
                }
            }
        }
        return moved;
    }

    /** The usable star whose lines are least loaded with one part more; of equal ones that with fewer of the parts. */
    private int leastLoaded(boolean[][] usable, int pair, int now) {
        int[] counts = parts(from(pair), to(pair));
        long part = partLoad(pair, now, counts);
        int best = now;
        long least = Long.MAX_VALUE;
        for (int star : common[pair]) {
            long load = lineLoad(star, pair) + convert(part, pair, now, star);
            boolean better = load < least || load == least && counts[star] < counts[best];
            if (isUsable(usable, star, pair) && better) {
                best = star;
                least = load;
            }
        }
        return best;
    }

    /**
     * Evens out stars whose load differs by more than a quarter of a frame, the pairs that want most first, so that few
     * parts move. Parts away from home stay where they are.
     *
     * @return edges whose traffic moved
     */
    BitSet balance(boolean[][] usable) {
        List<Integer> order = new ArrayList<>();
        for (int pair = 0; pair < common.length; pair++) {
            if (common[pair].length > 1) {
                order.add(pair);
            }
        }
        order.sort(Comparator.comparingLong(pair -> -most(pair)));
        BitSet moved = new BitSet();
        for (int pair : order) {
            moved.set(from(pair), balance(usable, pair) || moved.get(from(pair)));
        }
        return moved;
    }

    private long most(int pair) {
        long most = 0;
        for (int star : common[pair]) {
            most = Math.max(most, wanted[star][pair]);
        }
        return most;
    }

    private boolean balance(boolean[][] usable, int pair) {
        int high = -1;
        int low = -1;
        for (int star : common[pair]) {
            if (isUsable(usable, star, pair)) {
                high = high < 0 || lineLoad(star, pair) > lineLoad(high, pair) ? star : high;
                low = low < 0 || lineLoad(star, pair) < lineLoad(low, pair) ? star : low;
            }
        }
        if (high == low || lineLoad(high, pair) - lineLoad(low, pair) <= threshold) {
            return false;
        }
        boolean moved = false;
        long taken = partLoad(pair, high, parts(from(pair), to(pair)));
        long given = convert(taken, pair, high, low);
        for (int part = 0; taken > 0 && part < PARTS; part++) {
            // By half the threshold at least, or what is measured next would often move it back.
            boolean helps = lineLoad(low, pair) + given + threshold / 2 < lineLoad(high, pair);
            if (at[pair][part] == high && home[pair][part] == high && helps) {
                move(pair, part, low);
                home[pair][part] = (byte) low;
                moved = true;
            }
        }
        return moved;
    }

    private void move(int pair, int part, int star) {
        int before = at[pair][part];
        long load = partLoad(pair, before, parts(from(pair), to(pair)));
        add(before, pair, -load);
        add(star, pair, convert(load, pair, before, star));
        at[pair][part] = (byte) star;
    }

    private long partLoad(int pair, int star, int[] counts) {
        return counts[star] == 0 ? 0 : wanted[star][pair] / counts[star];
    }

    /** The same bytes in slots of another star. */
    private long convert(long load, int pair, int before, int after) {
        return before == after ? load : load * slotBytes[before][from(pair)] / slotBytes[after][from(pair)];
    }

    private long lineLoad(int star, int pair) {
        return Math.max(rowLoad[star][lineOf[star][from(pair)]], columnLoad[star][lineOf[star][to(pair)]]);
    }

    private boolean isUsable(boolean[][] usable, int star, int pair) {
        return usable[star][from(pair)] && usable[star][to(pair)];
    }

    private int from(int pair) {
        return pair / edges;
    }

    private int to(int pair) {
        return pair % edges;
    }
}

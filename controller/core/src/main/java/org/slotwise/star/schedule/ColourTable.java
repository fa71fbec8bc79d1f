// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import java.util.Arrays;

/**
 * A partial edge colouring: which sender is connected to which receiver in each colour. A connection is firm, or spare: a spare
 * one gives way to any firm one. The colours of an edge stand next to each other, so that a run of colours is written at once; a bit
 * mask for each says what is free, 64 colours a word.
 */
final class ColourTable {
    static final int NONE = -1;
    /** Shorts in a line of the cache; see {@link PairsByDistance}. */
    private static final int LINE = 32;
    /** Of so many connections one has changed, at least, where all of a schedule is written anew. */
    private static final int MANY = 8;
    /** Of so many free colours at either end paths are tried. */
    private static final int MOST_COLOURS = 16;

    private final int edges;
    private final int colours;
    private final int words;
    /** Length of an edge's colours in {@code receiver} and {@code sender}. */
    private final int stride;
    private final int[] slotOfColour;
    private final PairsByDistance pairs;
    /** By sender and colour: the receiver. */
    private final short[] receiver;
    /** By receiver and colour: the sender. */
    private final short[] sender;
    /** Colours without a firm connection by sender and by receiver, {@code words} each. */
    private final long[] freeToSend;
    private final long[] freeToReceive;
    /** Colours without any connection. */
    private final long[] idleToSend;
    private final long[] idleToReceive;
    /** Words before these have no colour without a firm connection. */
    private final int[] firstToSend;
    private final int[] firstToReceive;
    /** By sender: colours in which it may have another receiver than in the schedule before. */
    private final long[] changed;
    /** Firm and spare connections by {@link PairsByDistance}. */
    private final int[] firm;
    private final int[] spare;
    private final int[] pathSenders;
    private final int[] pathReceivers;
    /** Colours that are free at both ends of a pair, and where the paths of their pairs have come to. */
    private final int[] coloursA = new int[MOST_COLOURS];
    private final int[] coloursB = new int[MOST_COLOURS];
    private final int[] pathEnds = new int[MOST_COLOURS * MOST_COLOURS];
    private final short[] someSlots;
    private final long[] block = new long[Long.SIZE];

    ColourTable(int edges, int colours, SlotOrder order) {
        this.edges = edges;
        this.colours = colours;
        this.words = (colours + Long.SIZE - 1) / Long.SIZE;
        this.stride = words * Long.SIZE + LINE;
        this.slotOfColour = order.slotsOfColours(colours);
        this.pairs = new PairsByDistance(edges);
        this.receiver = new short[edges * stride];
        this.sender = new short[edges * stride];
        this.freeToSend = new long[edges * words];
        this.freeToReceive = new long[edges * words];
        this.idleToSend = new long[edges * words];
        this.idleToReceive = new long[edges * words];
        this.firstToSend = new int[edges];
        this.firstToReceive = new int[edges];
        this.changed = new long[edges * words];
        this.firm = new int[pairs.length()];
        this.spare = new int[pairs.length()];
        this.pathSenders = new int[2 * edges];
        this.pathReceivers = new int[2 * edges];
        this.someSlots = new short[Long.SIZE * edges];
    }

    /** Takes a schedule over: all its connections are spare. */
    void load(FrameSchedule schedule) {
        Arrays.fill(sender, (short) NONE);
        Arrays.fill(firm, 0);
        Arrays.fill(spare, 0);
        Arrays.fill(changed, 0);
        Arrays.fill(firstToSend, 0);
        Arrays.fill(firstToReceive, 0);
        for (int edge = 0; edge < edges; edge++) {
            for (int word = 0; word < words; word++) {
                freeToSend[edge * words + word] = coloursOf(word);
            }
        }
        System.arraycopy(freeToSend, 0, freeToReceive, 0, freeToSend.length);
        System.arraycopy(freeToSend, 0, idleToSend, 0, freeToSend.length);
        System.arraycopy(freeToSend, 0, idleToReceive, 0, freeToSend.length);
        for (int word = 0; word < words; word++) {
            loadWord(schedule, word);
        }
    }

    private long coloursOf(int word) {
        int left = colours - word * Long.SIZE;
        return left < Long.SIZE ? (1L << left) - 1 : -1L;
    }

    private void loadWord(FrameSchedule schedule, int word) {
        int firstColour = word * Long.SIZE;
        int count = Math.min(Long.SIZE, colours - firstColour);
        for (int k = 0; k < count; k++) {
            schedule.copySlot(slotOfColour[firstColour + k], someSlots, k * edges);
        }
        for (int i = 0; i < edges; i++) {
            int place = i * stride + firstColour;
            for (int k = 0; k < count; k++) {
                int j = someSlots[k * edges + i];
                receiver[place + k] = (short) j;
                if (j != NONE) {
                    sender[j * stride + firstColour + k] = (short) i;
                    idleToSend[i * words + word] &= ~(1L << k);
                    idleToReceive[j * words + word] &= ~(1L << k);
                    spare[pairs.place(i, j)]++;
                }
            }
        }
    }

    /** What is connected now, given what was loaded or returned last: that one itself if it is the same. */
    FrameSchedule toSchedule(FrameSchedule before) {
        int differences = 0;
        for (long word : changed) {
            differences += Long.bitCount(word);
        }
        FrameSchedule next;
        if (differences < edges * colours / MANY) {
            next = patched(before);
        } else {
            next = writtenAnew();
            next = next.equals(before) ? before : next;
        }
        Arrays.fill(changed, 0);
        return next;
    }

    private FrameSchedule patched(FrameSchedule before) {
        short[] outputs = null;
        for (int i = 0; i < edges; i++) {
            for (int word = 0; word < words; word++) {
                for (long rest = changed[i * words + word]; rest != 0; rest &= rest - 1) {
                    int colour = word * Long.SIZE + Long.numberOfTrailingZeros(rest);
                    int slot = slotOfColour[colour];
                    short now = receiver[i * stride + colour];
                    if (outputs == null) {
                        if (before.output(slot, i) == now) {
                            continue;
                        }
                        outputs = before.copyOfOutputs();
                    }
                    outputs[slot * edges + i] = now;
                }
            }
        }
        return outputs == null ? before : FrameSchedule.of(edges, colours, outputs);
    }

    /** Square by square of 64 senders and colours, so that neither side runs out of the cache. */
    private FrameSchedule writtenAnew() {
        short[] outputs = new short[colours * edges];
        for (int firstColour = 0; firstColour < colours; firstColour += Long.SIZE) {
            int lastColour = Math.min(colours, firstColour + Long.SIZE);
            for (int firstSender = 0; firstSender < edges; firstSender += Long.SIZE) {
                int lastSender = Math.min(edges, firstSender + Long.SIZE);
                for (int colour = firstColour; colour < lastColour; colour++) {
                    int place = slotOfColour[colour] * edges;
                    for (int i = firstSender; i < lastSender; i++) {
                        outputs[place + i] = receiver[i * stride + colour];
                    }
                }
            }
        }
        return FrameSchedule.of(edges, colours, outputs);
    }

    /** Firm connections by {@link PairsByDistance}; others only read it. */
    int[] firm() {
        return firm;
    }

    /** Spare connections by {@link PairsByDistance}; others only read it. */
    int[] spare() {
        return spare;
    }

    int receiver(int colour, int i) {
        return receiver[i * stride + colour];
    }

    /** Whether a sender has a firm connection in a colour. */
    boolean isFirm(int colour, int i) {
        return !isFree(freeToSend, i, colour);
    }

    /** Makes a spare connection firm. */
    void makeFirm(int colour, int i, int j) {
        freeToSend[i * words + colour / Long.SIZE] &= ~(1L << colour);
        freeToReceive[j * words + colour / Long.SIZE] &= ~(1L << colour);
        firm[pairs.place(i, j)]++;
        spare[pairs.place(i, j)]--;
    }

    /** Makes a firm connection spare. */
    void makeSpare(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        freeToSend[i * words + word] |= 1L << colour;
        freeToReceive[j * words + word] |= 1L << colour;
        firstToSend[i] = Math.min(firstToSend[i], word);
        firstToReceive[j] = Math.min(firstToReceive[j], word);
        firm[pairs.place(i, j)]--;
        spare[pairs.place(i, j)]++;
    }

    /** Connects two that have no connection in a colour. */
    void addSpare(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        receiver[i * stride + colour] = (short) j;
        sender[j * stride + colour] = (short) i;
        idleToSend[i * words + word] &= ~(1L << colour);
        idleToReceive[j * words + word] &= ~(1L << colour);
        changed[i * words + word] |= 1L << colour;
        spare[pairs.place(i, j)]++;
    }

    /** Ends a spare connection. */
    void dropSpare(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        receiver[i * stride + colour] = NONE;
        sender[j * stride + colour] = NONE;
        idleToSend[i * words + word] |= 1L << colour;
        idleToReceive[j * words + word] |= 1L << colour;
        changed[i * words + word] |= 1L << colour;
        spare[pairs.place(i, j)]--;
    }

    /** Connects a pair firmly in up to {@code wanted} of the lowest colours that are free at both; returns in how many. */
    int connectInCommon(int i, int j, int wanted) {
        int left = wanted;
        for (int word = Math.max(firstToSend(i), firstToReceive(j)); word < words && left > 0; word++) {
            long common = freeToSend[i * words + word] & freeToReceive[j * words + word];
            if (common != 0) {
                long taken = lowest(common, left);
                connect(word, taken, i, j);
                left -= Long.bitCount(taken);
            }
        }
        firm[pairs.place(i, j)] += wanted - left;
        return wanted - left;
    }

    private int firstToSend(int i) {
        int first = firstToSend[i];
        while (first < words && freeToSend[i * words + first] == 0) {
            first++;
        }
        firstToSend[i] = first;
        return first;
    }

    private int firstToReceive(int j) {
        int first = firstToReceive[j];
        while (first < words && freeToReceive[j * words + first] == 0) {
            first++;
        }
        firstToReceive[j] = first;
        return first;
    }

    private static long lowest(long bits, int count) {
        if (Long.bitCount(bits) <= count) {
            return bits;
        }
        long others = bits;
        for (int k = 0; k < count; k++) {
            others &= others - 1;
        }
        return bits ^ others;
    }

    /** Sets connections of one word, which the caller counts as firm, in place of what spare ones are in their way. */
    private void connect(int word, long taken, int i, int j) {
        int firstColour = word * Long.SIZE;
        for (long rest = taken & ~idleToSend[i * words + word]; rest != 0; rest &= rest - 1) {
            int colour = firstColour + Long.numberOfTrailingZeros(rest);
            dropSpare(colour, i, receiver[i * stride + colour]);
        }
        for (long rest = taken & ~idleToReceive[j * words + word]; rest != 0; rest &= rest - 1) {
            int colour = firstColour + Long.numberOfTrailingZeros(rest);
            dropSpare(colour, sender[j * stride + colour], j);
        }
        idleToSend[i * words + word] &= ~taken;
        idleToReceive[j * words + word] &= ~taken;
        freeToSend[i * words + word] &= ~taken;
        freeToReceive[j * words + word] &= ~taken;
        changed[i * words + word] |= taken;
        int ofSender = i * stride + firstColour;
        int ofReceiver = j * stride + firstColour;
        for (long rest = taken; rest != 0; rest &= rest - 1) {
            int bit = Long.numberOfTrailingZeros(rest);
            receiver[ofSender + bit] = (short) j;
            sender[ofReceiver + bit] = (short) i;
        }
    }

    private void connectFirmly(int colour, int i, int j) {
        connect(colour / Long.SIZE, 1L << colour, i, j);
        firm[pairs.place(i, j)]++;
    }

    /**
     * Connects a pair, both with a free colour but none in common, by making one of the sender's free at the other: along the
     * shortest of the alternating paths of colours that are free at either end, so that the fewest connections move.
     */
    void connectBySwapping(int i, int j) {
        int countA = freeColours(freeToSend, i, coloursA);
        int countB = freeColours(freeToReceive, j, coloursB);
        if (countA == 0 || countB == 0) {
            throw new IllegalStateException("line " + (countA == 0 ? i : j) + " is full");
        }
        int shortest = shortestPath(countA, countB, j);
        int a = coloursA[shortest / countB];
        swapAlongPath(a, coloursB[shortest % countB], j);
        connectFirmly(a, i, j);
    }

    /** Collects the lowest colours that are free at an edge; returns how many. */
    private int freeColours(long[] free, int edge, int[] found) {
        int count = 0;
        for (int word = 0; word < words; word++) {
            for (long rest = free[edge * words + word]; rest != 0; rest &= rest - 1) {
                found[count++] = word * Long.SIZE + Long.numberOfTrailingZeros(rest);
                if (count == found.length) {
                    return count;
                }
            }
        }
        return count;
    }

    /** Follows the paths of all pairs of colours from a receiver, a step of each at a time, until one ends; returns its place. */
    private int shortestPath(int countA, int countB, int j) {
        Arrays.fill(pathEnds, 0, countA * countB, j);
        while (true) {
            int path = 0;
            for (int indexA = 0; indexA < countA; indexA++) {
                int a = coloursA[indexA];
                for (int indexB = 0; indexB < countB; indexB++, path++) {
                    int b = coloursB[indexB];
                    int column = pathEnds[path];
                    if (isFree(freeToReceive, column, a)) {
                        return path;
                    }
                    int row = sender[column * stride + a];
                    if (isFree(freeToSend, row, b)) {
                        return path;
                    }
                    pathEnds[path] = receiver[row * stride + b];
                }
            }
        }
    }

    private boolean isFree(long[] free, int edge, int colour) {
        return (free[edge * words + colour / Long.SIZE] >>> colour & 1) != 0;
    }

    /**
     * Frees colour {@code a} at receiver {@code j}, where {@code b} is free, by swapping both along the path of
     * firm connections that alternate between them. A sender where {@code a} is free is never on that path.
     */
    private void swapAlongPath(int a, int b, int j) {
        int length = 0;
        int column = j;
        while (column != NONE) {
            int row = sender[column * stride + a];
            if (row == NONE || !isFirm(a, row)) {
                break;
            }
            pathSenders[length] = row;
            pathReceivers[length++] = column;
            column = isFirm(b, row) ? receiver(b, row) : NONE;
            if (column != NONE) {
                pathSenders[length] = row;
                pathReceivers[length++] = column;
            }
        }
        for (int step = 0; step < length; step++) {
            int colour = step % 2 == 0 ? a : b;
            makeSpare(colour, pathSenders[step], pathReceivers[step]);
            dropSpare(colour, pathSenders[step], pathReceivers[step]);
        }
        for (int step = 0; step < length; step++) {
            int colour = step % 2 == 0 ? b : a;
            connectFirmly(colour, pathSenders[step], pathReceivers[step]);
        }
    }

    /**
     * Of 64 colours: who has no connection. By colour, then a bit an edge, {@code (edges + 63) / 64} words a colour.
     *
     * @return whether there is anybody
     */
    boolean idle(int word, long[] senders, long[] receivers) {
        return transposed(idleToSend, word, senders) && transposed(idleToReceive, word, receivers);
    }

    private boolean transposed(long[] byEdge, int word, long[] byColour) {
        int edgeWords = (edges + Long.SIZE - 1) / Long.SIZE;
        long any = 0;
        for (int edgeWord = 0; edgeWord < edgeWords; edgeWord++) {
            long here = 0;
            for (int k = 0; k < Long.SIZE; k++) {
                int edge = edgeWord * Long.SIZE + k;
                block[k] = edge < edges ? byEdge[edge * words + word] : 0;
                here |= block[k];
            }
            if (here != 0) {
                BitMatrix.transpose(block);
            }
            for (int k = 0; k < Long.SIZE; k++) {
                byColour[k * edgeWords + edgeWord] = block[k];
            }
            any |= here;
        }
        return any != 0;
    }
}

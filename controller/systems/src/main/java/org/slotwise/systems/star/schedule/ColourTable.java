// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

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
    private final int summaries;
    /** Length of an edge's colours in {@code receiver} and {@code sender}. */
    private final int stride;
    private final int[] slotOfColour;
    private final PairsByDistance pairs;
    /** By sender and colour: the receiver, as {@link #spareOf} writes it if the connection is spare. Not negative only if it is firm. */
    private final short[] receiver;
    /** By receiver and colour: the sender, likewise. */
    private final short[] sender;
    /** Colours without a firm connection by sender and by receiver, {@code words} each. */
    private final long[] freeToSend;
    private final long[] freeToReceive;
    /** Colours without any connection. */
    private final long[] idleToSend;
    private final long[] idleToReceive;
    /** Words that have a colour without a firm connection, a bit a word, {@code summaries} each. */
    private final long[] openToSend;
    private final long[] openToReceive;
    /** By sender: colours in which it may have another receiver than in the schedule before. */
    private final long[] changed;
    /** Spare connections by {@link PairsByDistance}. */
    private final int[] spare;
    private final int[] pathSenders;
    private final int[] pathReceivers;
    /** Colours that are free at both ends of a pair, and where the paths of their pairs have come to. */
    private final int[] coloursA = new int[MOST_COLOURS];
    private final int[] coloursB = new int[MOST_COLOURS];
    private final int[] pathEnds = new int[MOST_COLOURS * MOST_COLOURS];
    private final int[] found;
    private final short[] someSlots;
    private final long[] block = new long[Long.SIZE];

    ColourTable(int edges, int colours, SlotOrder order) {
        this.edges = edges;
        this.colours = colours;
        this.words = (colours + Long.SIZE - 1) / Long.SIZE;
        this.summaries = (words + Long.SIZE - 1) / Long.SIZE;
        this.stride = words * Long.SIZE + LINE;
        this.slotOfColour = order.slotsOfColours(colours);
        this.pairs = new PairsByDistance(edges);
        this.receiver = new short[edges * stride];
        this.sender = new short[edges * stride];
        this.freeToSend = new long[edges * words];
        this.freeToReceive = new long[edges * words];
        this.idleToSend = new long[edges * words];
        this.idleToReceive = new long[edges * words];
        this.openToSend = new long[edges * summaries];
        this.openToReceive = new long[edges * summaries];
        this.changed = new long[edges * words];
        this.spare = new int[pairs.length()];
        this.pathSenders = new int[2 * edges];
        this.pathReceivers = new int[2 * edges];
        this.found = new int[colours];
        this.someSlots = new short[Long.SIZE * edges];
    }

    /** Takes a schedule over: all its connections are spare. */
    void load(FrameSchedule schedule) {
        Arrays.fill(sender, (short) NONE);
        Arrays.fill(spare, 0);
        Arrays.fill(changed, 0);
        for (int edge = 0; edge < edges; edge++) {
            for (int word = 0; word < words; word++) {
                freeToSend[edge * words + word] = firstOf(colours - word * Long.SIZE);
            }
            for (int summary = 0; summary < summaries; summary++) {
                openToSend[edge * summaries + summary] = firstOf(words - summary * Long.SIZE);
            }
        }
        System.arraycopy(openToSend, 0, openToReceive, 0, openToSend.length);
        System.arraycopy(freeToSend, 0, freeToReceive, 0, freeToSend.length);
        System.arraycopy(freeToSend, 0, idleToSend, 0, freeToSend.length);
        System.arraycopy(freeToSend, 0, idleToReceive, 0, freeToSend.length);
        for (int word = 0; word < words; word++) {
            loadWord(schedule, word);
        }
    }

    /** A word with its first bits set, at most all. */
    private static long firstOf(int count) {
        return count < Long.SIZE ? (1L << count) - 1 : -1L;
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
                receiver[place + k] = spareOf(j);
                if (j != NONE) {
                    sender[j * stride + firstColour + k] = spareOf(i);
                    idleToSend[i * words + word] &= ~(1L << k);
                    idleToReceive[j * words + word] &= ~(1L << k);
                    spare[pairs.place(i, j)]++;
                }
            }
        }
    }

    /** How an edge, or NONE, is written where it is spare. */
    private static short spareOf(int edge) {
        return (short) (~edge - 1);
    }

    /** The opposite for what is negative; a firm edge stays. */
    private static short edgeOf(short written) {
        int sign = written >> Short.SIZE - 1;
        return (short) ((written ^ sign) + sign);
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
                    short now = edgeOf(receiver[i * stride + colour]);
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
                        outputs[place + i] = edgeOf(receiver[i * stride + colour]);
                    }
                }
            }
        }
        return FrameSchedule.of(edges, colours, outputs);
    }

    /** Spare connections by {@link PairsByDistance}; others only read it. */
    int[] spare() {
        return spare;
    }

    /** Ways in which a connection, or none, of a sender can be written: {@link #firmTo} and {@link #spareTo} are some. */
    int ways() {
        return 2 * edges + 1;
    }

    /** The way in which a firm connection to a receiver is written. */
    int firmTo(int j) {
        return j + edges + 1;
    }

    /** The way in which a spare one is. */
    int spareTo(int j) {
        return spareOf(j) + edges + 1;
    }

    /** Makes {@code count} connections of a sender spare that are firm, or the opposite: by way, how many, which is counted down to 0. */
    void turnFirmAndSpare(int i, int[] less, int count) {
        findLatest(i, less, count);
        for (int k = 0; k < count; k++) {
            turn(found[k], i, edgeOf(receiver[i * stride + found[k]]));
        }
    }

    /** Writes the last colours in which a sender's connections are of these ways to {@code found}. */
    private void findLatest(int i, int[] less, int count) {
        short[] receivers = receiver;
        int none = edges + 1;
        int first = i * stride;
        int colour = colours - 1;
        for (int left = count; left > 0; ) {
            int place = first + colour;
            // Most often there is none among four: a branch for each would cost more than all else.
            if (colour >= 3 && (less[receivers[place] + none] | less[receivers[place - 1] + none] | less[receivers[place - 2] + none]
                    | less[receivers[place - 3] + none]) == 0) {
                colour -= 4;
                continue;
            }
            for (int end = Math.max(NONE, colour - 4); colour > end && left > 0; colour--) {
                int way = receivers[first + colour] + none;
                if (less[way] != 0) {
                    less[way]--;
                    found[count - left--] = colour;
                }
            }
        }
    }

    private void turn(int colour, int i, int j) {
        if (isFirm(colour, i)) {
            release(colour, i, j);
            receiver[i * stride + colour] = spareOf(j);
            sender[j * stride + colour] = spareOf(i);
            spare[pairs.place(i, j)]++;
        } else {
            receiver[i * stride + colour] = (short) j;
            sender[j * stride + colour] = (short) i;
            take(freeToSend, openToSend, i, colour / Long.SIZE, 1L << colour);
            take(freeToReceive, openToReceive, j, colour / Long.SIZE, 1L << colour);
            spare[pairs.place(i, j)]--;
        }
    }

    /** Ends {@code count} spare connections of a sender: by way, how many, which is counted down to 0. */
    void dropSpare(int i, int[] less, int count) {
        findLatest(i, less, count);
        for (int k = 0; k < count; k++) {
            dropSpare(found[k], i, edgeOf(receiver[i * stride + found[k]]));
        }
    }

    private boolean isFirm(int colour, int i) {
        return receiver[i * stride + colour] >= 0;
    }

    /** Marks the colour of a firm connection as free. */
    private void release(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        freeToSend[i * words + word] |= 1L << colour;
        freeToReceive[j * words + word] |= 1L << colour;
        openToSend[i * summaries + word / Long.SIZE] |= 1L << word;
        openToReceive[j * summaries + word / Long.SIZE] |= 1L << word;
    }

    /** Connects two that have no connection in a colour. */
    void addSpare(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        receiver[i * stride + colour] = spareOf(j);
        sender[j * stride + colour] = spareOf(i);
        idleToSend[i * words + word] &= ~(1L << colour);
        idleToReceive[j * words + word] &= ~(1L << colour);
        changed[i * words + word] |= 1L << colour;
        spare[pairs.place(i, j)]++;
    }

    private void dropSpare(int colour, int i, int j) {
        disconnect(colour, i, j);
        spare[pairs.place(i, j)]--;
    }

    private void disconnect(int colour, int i, int j) {
        int word = colour / Long.SIZE;
        receiver[i * stride + colour] = NONE;
        sender[j * stride + colour] = NONE;
        idleToSend[i * words + word] |= 1L << colour;
        idleToReceive[j * words + word] |= 1L << colour;
        changed[i * words + word] |= 1L << colour;
    }

    /** Connects a pair firmly in up to {@code wanted} of the lowest colours that are free at both; returns in how many. */
    int connectInCommon(int i, int j, int wanted) {
        int left = wanted;
        for (int summary = 0; summary < summaries; summary++) {
            long open = openToSend[i * summaries + summary] & openToReceive[j * summaries + summary];
            for (; open != 0 && left > 0; open &= open - 1) {
                int word = summary * Long.SIZE + Long.numberOfTrailingZeros(open);
                long common = freeToSend[i * words + word] & freeToReceive[j * words + word];
                if (common != 0) {
                    long taken = lowest(common, left);
                    connect(word, taken, i, j);
                    left -= Long.bitCount(taken);
                }
            }
        }
        return wanted - left;
    }

    private void take(long[] free, long[] open, int edge, int word, long taken) {
        free[edge * words + word] &= ~taken;
        if (free[edge * words + word] == 0) {
            open[edge * summaries + word / Long.SIZE] &= ~(1L << word);
        }
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

    /** Sets firm connections of one word, in place of what spare ones are in their way. */
    private void connect(int word, long taken, int i, int j) {
        int firstColour = word * Long.SIZE;
        for (long rest = taken & ~idleToSend[i * words + word]; rest != 0; rest &= rest - 1) {
            int colour = firstColour + Long.numberOfTrailingZeros(rest);
            dropSpare(colour, i, edgeOf(receiver[i * stride + colour]));
        }
        for (long rest = taken & ~idleToReceive[j * words + word]; rest != 0; rest &= rest - 1) {
            int colour = firstColour + Long.numberOfTrailingZeros(rest);
            dropSpare(colour, edgeOf(sender[j * stride + colour]), j);
        }
        idleToSend[i * words + word] &= ~taken;
        idleToReceive[j * words + word] &= ~taken;
        take(freeToSend, openToSend, i, word, taken);
        take(freeToReceive, openToReceive, j, word, taken);
        changed[i * words + word] |= taken;
        int ofSender = i * stride + firstColour;
        int ofReceiver = j * stride + firstColour;
        for (long rest = taken; rest != 0; rest &= rest - 1) {
            int bit = Long.numberOfTrailingZeros(rest);
            receiver[ofSender + bit] = (short) j;
            sender[ofReceiver + bit] = (short) i;
        }
    }

    private void connect(int colour, int i, int j) {
        connect(colour / Long.SIZE, 1L << colour, i, j);
    }

    /**
     * Connects a pair, both with a free colour but none in common, by making one of the sender's free at the other: along the
     * shortest of the alternating paths of colours that are free at either end, so that the fewest connections move.
     */
    void connectBySwapping(int i, int j) {
        int countA = freeColours(freeToSend, i, coloursA);
        int countB = freeColours(freeToReceive, j, coloursB);
        if (countA == 0 || countB == 0) {
            throw new IllegalStateException("edge " + (countA == 0 ? i : j) + " has no free slot");
        }
        int shortest = pathOfOne(countA, countB, j);
        if (shortest == NONE) {
            shortest = pathOfMore(countA, countB, j);
        }
        int a = coloursA[shortest / countB];
        swapAlongPath(a, coloursB[shortest % countB], j);
        connect(a, i, j);
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

    /** Place of the first path, by colours, of one connection: its sender is free in a colour of the receiver; NONE if there is none. */
    private int pathOfOne(int countA, int countB, int j) {
        int last = coloursB[countB - 1];
        for (int indexA = 0; indexA < countA; indexA++) {
            int row = sender[j * stride + coloursA[indexA]];
            for (int summary = 0; summary < summaries; summary++) {
                long open = openToSend[row * summaries + summary] & openToReceive[j * summaries + summary];
                for (; open != 0; open &= open - 1) {
                    int word = summary * Long.SIZE + Long.numberOfTrailingZeros(open);
                    long common = freeToSend[row * words + word] & freeToReceive[j * words + word];
                    if (common != 0) {
                        int b = word * Long.SIZE + Long.numberOfTrailingZeros(common);
                        if (b <= last) {
                            return indexA * countB + Arrays.binarySearch(coloursB, 0, countB, b);
                        }
                    }
                }
            }
        }
        return NONE;
    }

    /** Follows the paths of all pairs of colours from a receiver, a step of each at a time, until one ends; returns its place. */
    private int pathOfMore(int countA, int countB, int j) {
        for (boolean first = true; true; first = false) {
            int path = 0;
            for (int indexA = 0; indexA < countA; indexA++) {
                int a = coloursA[indexA];
                int firstRow = sender[j * stride + a];
                for (int indexB = 0; indexB < countB; indexB++, path++) {
                    int b = coloursB[indexB];
                    int column = first ? receiver[firstRow * stride + b] : pathEnds[path];
                    int row = sender[column * stride + a];
                    if (row < 0) {
                        return path;
                    }
                    int next = receiver[row * stride + b];
                    if (next < 0) {
                        return path;
                    }
                    pathEnds[path] = next;
                }
            }
        }
    }

    /**
     * Frees colour {@code a} at receiver {@code j}, where {@code b} is free, by swapping both along the path of
     * firm connections that alternate between them. A sender where {@code a} is free is never on that path.
     */
    private void swapAlongPath(int a, int b, int j) {
        int length = 0;
        int column = j;
        int row = sender[column * stride + a];
        while (row >= 0) {
            pathSenders[length] = row;
            pathReceivers[length++] = column;
            column = receiver[row * stride + b];
            if (column < 0) {
                break;
            }
            pathSenders[length] = row;
            pathReceivers[length++] = column;
            row = sender[column * stride + a];
        }
        for (int step = 0; step < length; step++) {
            int colour = step % 2 == 0 ? a : b;
            release(colour, pathSenders[step], pathReceivers[step]);
            disconnect(colour, pathSenders[step], pathReceivers[step]);
        }
        for (int step = 0; step < length; step++) {
            int colour = step % 2 == 0 ? b : a;
            connect(colour, pathSenders[step], pathReceivers[step]);
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import java.util.Arrays;

/**
 * A partial edge colouring: which sender is connected to which receiver in each colour. A connection is firm, or spare: a spare
 * one gives way to any firm one. Flat arrays, colour by colour, so that an alternating path of two colours stays in four
 * short rows.
 */
final class ColourTable {
    static final int NONE = -1;

    private final int edges;
    private final Square square;
    private final int colours;
    private final int words;
    private final int[] slotOfColour;
    /** By colour and sender: the receiver. */
    private final short[] receiver;
    /** By colour and receiver: the sender. */
    private final short[] sender;
    /** Colours without a firm connection by sender and by receiver, {@code words} each. */
    private final long[] freeToSend;
    private final long[] freeToReceive;
    /** Firm and spare connections by sender and receiver. */
    private final int[] firm;
    private final int[] spare;
    /** Connections by colour. */
    private final int[] used;
    private final int[] pathSenders;
    private final int[] pathReceivers;

    ColourTable(int edges, int colours, SlotOrder order) {
        this.edges = edges;
        this.square = new Square(edges);
        this.colours = colours;
        this.words = (colours + Long.SIZE - 1) / Long.SIZE;
        this.slotOfColour = order.slotsOfColours(colours);
        this.receiver = new short[colours * edges];
        this.sender = new short[colours * edges];
        this.freeToSend = new long[edges * words];
        this.freeToReceive = new long[edges * words];
        this.firm = new int[square.length()];
        this.spare = new int[square.length()];
        this.used = new int[colours];
        this.pathSenders = new int[2 * edges];
        this.pathReceivers = new int[2 * edges];
    }

    /** Takes a schedule over: all its connections are spare. */
    void load(FrameSchedule schedule) {
        Arrays.fill(sender, (short) NONE);
        Arrays.fill(firm, 0);
        Arrays.fill(spare, 0);
        Arrays.fill(used, 0);
        for (int edge = 0; edge < edges; edge++) {
            for (int word = 0; word < words; word++) {
                int left = colours - word * Long.SIZE;
                freeToSend[edge * words + word] = left < Long.SIZE ? (1L << left) - 1 : -1L;
            }
        }
        System.arraycopy(freeToSend, 0, freeToReceive, 0, freeToSend.length);
        for (int colour = 0; colour < colours; colour++) {
            int first = colour * edges;
            schedule.copySlot(slotOfColour[colour], receiver, first);
            for (int i = 0; i < edges; i++) {
                int j = receiver[first + i];
                if (j != NONE) {
                    sender[first + j] = (short) i;
                    spare[square.entry(i, j)]++;
                    used[colour]++;
                }
            }
        }
    }

    /** Writes down what is connected. */
    FrameSchedule toSchedule() {
        short[] outputs = new short[colours * edges];
        for (int colour = 0; colour < colours; colour++) {
            System.arraycopy(receiver, colour * edges, outputs, slotOfColour[colour] * edges, edges);
        }
        return FrameSchedule.of(edges, colours, outputs);
    }

    /** Firm connections of a pair. */
    int firm(int i, int j) {
        return firm[square.entry(i, j)];
    }

    /** Spare connections of a pair. */
    int spare(int i, int j) {
        return spare[square.entry(i, j)];
    }

    /** Whether everybody sends in a colour. */
    boolean isFull(int colour) {
        return used[colour] == edges;
    }

    int receiver(int colour, int i) {
        return receiver[colour * edges + i];
    }

    int sender(int colour, int j) {
        return sender[colour * edges + j];
    }

    /** Whether a sender has a firm connection in a colour. */
    boolean isFirm(int colour, int i) {
        return (freeToSend[i * words + colour / Long.SIZE] >>> colour & 1) == 0;
    }

    /** Makes a spare connection firm. */
    void makeFirm(int colour, int i, int j) {
        freeToSend[i * words + colour / Long.SIZE] &= ~(1L << colour);
        freeToReceive[j * words + colour / Long.SIZE] &= ~(1L << colour);
        firm[square.entry(i, j)]++;
        spare[square.entry(i, j)]--;
    }

    /** Makes a firm connection spare. */
    void makeSpare(int colour, int i, int j) {
        freeToSend[i * words + colour / Long.SIZE] |= 1L << colour;
        freeToReceive[j * words + colour / Long.SIZE] |= 1L << colour;
        firm[square.entry(i, j)]--;
        spare[square.entry(i, j)]++;
    }

    /** Connects two that have no connection in a colour. */
    void addSpare(int colour, int i, int j) {
        receiver[colour * edges + i] = (short) j;
        sender[colour * edges + j] = (short) i;
        used[colour]++;
        spare[square.entry(i, j)]++;
    }

    /** Ends a spare connection. */
    void dropSpare(int colour, int i, int j) {
        receiver[colour * edges + i] = NONE;
        sender[colour * edges + j] = NONE;
        used[colour]--;
        spare[square.entry(i, j)]--;
    }

    /** Sets a connection, which the caller counts as firm or spare, in place of what spare ones are in its way. */
    private void connect(int colour, int i, int j) {
        int place = colour * edges;
        if (receiver[place + i] != NONE) {
            dropSpare(colour, i, receiver[place + i]);
        }
        if (sender[place + j] != NONE) {
            dropSpare(colour, sender[place + j], j);
        }
        receiver[place + i] = (short) j;
        sender[place + j] = (short) i;
        used[colour]++;
    }

    private void connectFirmly(int colour, int i, int j) {
        connect(colour, i, j);
        spare[square.entry(i, j)]++;
        makeFirm(colour, i, j);
    }

    /** Connects a pair firmly in up to {@code wanted} of the lowest colours that are free at both; returns in how many. */
    int connectInCommon(int i, int j, int wanted) {
        int left = wanted;
        for (int word = 0; word < words && left > 0; word++) {
            long common = freeToSend[i * words + word] & freeToReceive[j * words + word];
            long taken = 0;
            for (; common != 0 && left > 0; left--) {
                connect(word * Long.SIZE + Long.numberOfTrailingZeros(common), i, j);
                taken |= common & -common;
                common &= common - 1;
            }
            freeToSend[i * words + word] ^= taken;
            freeToReceive[j * words + word] ^= taken;
        }
        firm[square.entry(i, j)] += wanted - left;
        return wanted - left;
    }

    /** Connects a pair, both with a free colour but none in common, by making one of the sender's free at the other. */
    void connectBySwapping(int i, int j) {
        int a = firstFree(freeToSend, i);
        swapAlongPath(a, firstFree(freeToReceive, j), j);
        connectFirmly(a, i, j);
    }

    private int firstFree(long[] free, int edge) {
        for (int word = 0; word < words; word++) {
            if (free[edge * words + word] != 0) {
                return word * Long.SIZE + Long.numberOfTrailingZeros(free[edge * words + word]);
            }
        }
        throw new IllegalStateException("line " + edge + " is full");
    }

    /**
     * Frees colour {@code a} at receiver {@code j}, where {@code b} is free, by swapping both along the path of
     * firm connections that alternate between them. A sender where {@code a} is free is never on that path.
     */
    private void swapAlongPath(int a, int b, int j) {
        int length = 0;
        int column = j;
        while (column != NONE) {
            int row = sender(a, column);
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
}

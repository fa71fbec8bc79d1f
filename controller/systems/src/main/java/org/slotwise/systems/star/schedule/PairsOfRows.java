// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;

/** Collects an amount, above 0, for some places of a matrix, in any order, and gives them back row by row. */
final class PairsOfRows {
    private static final int END = -1;

    private final int[] newest;
    private int[] column = new int[64];
    private int[] amount = new int[64];
    private int[] next = new int[64];
    private int size;

    PairsOfRows(int rows) {
        newest = new int[rows];
    }

    void clear() {
        Arrays.fill(newest, END);
        size = 0;
    }

    void add(int row, int itsColumn, int itsAmount) {
        if (size == column.length) {
            column = Arrays.copyOf(column, 2 * size);
            amount = Arrays.copyOf(amount, 2 * size);
            next = Arrays.copyOf(next, 2 * size);
        }
        column[size] = itsColumn;
        amount[size] = itsAmount;
        next[size] = newest[row];
        newest[row] = size++;
    }

    /** Writes the amounts of a row to {@code amounts}, by column; returns their sum. */
    int take(int row, int[] amounts) {
        int sum = 0;
        for (int k = newest[row]; k != END; k = next[k]) {
            amounts[column[k]] = amount[k];
            sum += amount[k];
        }
        return sum;
    }
}

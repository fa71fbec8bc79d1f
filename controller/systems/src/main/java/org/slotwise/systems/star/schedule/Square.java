// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * Places of a square matrix in a flat array, row by row, each row as long as a power of two: row and column come from a
 * shift and a mask, where a division would cost more than all else.
 */
final class Square {
    private final int edges;
    private final int shift;
    private final int mask;

    Square(int edges) {
        this.edges = edges;
        this.shift = Integer.SIZE - Integer.numberOfLeadingZeros(edges - 1);
        this.mask = (1 << shift) - 1;
    }

    /** Length of a flat array. */
    int length() {
        return edges << shift;
    }

    int entry(int row, int column) {
        return row << shift | column;
    }

    int row(int entry) {
        return entry >>> shift;
    }

    int column(int entry) {
        return entry & mask;
    }

    /** Copies a matrix into a flat array. */
    int[] flatten(int[][] matrix) {
        int[] flat = new int[length()];
        for (int row = 0; row < edges; row++) {
            System.arraycopy(matrix[row], 0, flat, row << shift, edges);
        }
        return flat;
    }

    /** The opposite of {@link #flatten}. */
    int[][] unflatten(int[] flat) {
        int[][] matrix = new int[edges][edges];
        for (int row = 0; row < edges; row++) {
            System.arraycopy(flat, row << shift, matrix[row], 0, edges);
        }
        return matrix;
    }
}

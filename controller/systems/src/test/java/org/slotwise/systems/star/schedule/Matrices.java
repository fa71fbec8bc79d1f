// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.List;
import net.jqwik.api.Arbitrary;

/** Matrices for property tests. */
final class Matrices {
    private Matrices() {
    }

    static Arbitrary<int[][]> square(Arbitrary<Integer> sizes, Arbitrary<Integer> values) {
        return sizes.flatMap(n -> values.list().ofSize(n * n).map(list -> fold(list, n)));
    }

    private static int[][] fold(List<Integer> values, int n) {
        int[][] matrix = new int[n][n];
        for (int k = 0; k < values.size(); k++) {
            matrix[k / n][k % n] = values.get(k);
        }
        return matrix;
    }

    static int row(int[][] matrix, int i) {
        int sum = 0;
        for (int value : matrix[i]) {
            sum += value;
        }
        return sum;
    }

    static int column(int[][] matrix, int j) {
        int sum = 0;
        for (int[] row : matrix) {
            sum += row[j];
        }
        return sum;
    }
}

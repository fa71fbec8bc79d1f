// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import java.math.BigInteger;

/**
 * Max-min fair shares in exact fractions, by the textbook's other algorithm: find the line whose fair share is
 * smallest, fix its entries there (or at their request, if that is less), take them out, repeat.
 */
final class Reference {
    private final BigInteger[][] numerator;
    private final BigInteger[][] denominator;

    private Reference(int n) {
        numerator = new BigInteger[n][n];
        denominator = new BigInteger[n][n];
    }

    static Reference maxMin(int[][] request, int capacity) {
        int n = request.length;
        Reference result = new Reference(n);
        for (int i = 0; i < n; i++) {
            result.fix(i, i, BigInteger.ZERO, BigInteger.ONE);
        }
        while (true) {
            BigInteger[] best = null;
            for (int line = 0; line < 2 * n; line++) {
                BigInteger[] share = result.share(line, capacity);
                if (share != null && (best == null || less(share, best))) {
                    best = share;
                }
            }
            if (best == null) {
                return result;
            }
            if (!result.fixRequestsUpTo(request, best)) {
                result.fixLinesWith(best, capacity);
            }
        }
    }

    private boolean fixRequestsUpTo(int[][] request, BigInteger[] share) {
        boolean any = false;
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                BigInteger[] wanted = {BigInteger.valueOf(request[i][j]), BigInteger.ONE};
                if (numerator[i][j] == null && !less(share, wanted)) {
                    fix(i, j, wanted[0], wanted[1]);
                    any = true;
                }
            }
        }
        return any;
    }

    private void fixLinesWith(BigInteger[] share, int capacity) {
        int n = numerator.length;
        boolean[] tight = new boolean[2 * n];
        for (int line = 0; line < 2 * n; line++) {
            BigInteger[] own = share(line, capacity);
            tight[line] = own != null && !less(share, own);
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (numerator[i][j] == null && (tight[i] || tight[n + j])) {
                    fix(i, j, share[0], share[1]);
                }
            }
        }
    }

    /** What is left of a line for each entry that is not fixed; null if all are. Lines are rows, then columns. */
    private BigInteger[] share(int line, int capacity) {
        int n = numerator.length;
        BigInteger top = BigInteger.valueOf(capacity);
        BigInteger bottom = BigInteger.ONE;
        int open = 0;
        for (int k = 0; k < n; k++) {
            int i = line < n ? line : k;
            int j = line < n ? k : line - n;
            if (numerator[i][j] == null) {
                open++;
            } else {
                top = top.multiply(denominator[i][j]).subtract(numerator[i][j].multiply(bottom));
                bottom = bottom.multiply(denominator[i][j]);
                BigInteger common = top.gcd(bottom);
                if (common.signum() > 0) {
                    top = top.divide(common);
                    bottom = bottom.divide(common);
                }
            }
        }
        return open == 0 ? null : new BigInteger[] {top, bottom.multiply(BigInteger.valueOf(open))};
    }

    private void fix(int i, int j, BigInteger top, BigInteger bottom) {
        BigInteger common = top.gcd(bottom);
        numerator[i][j] = top.divide(common);
        denominator[i][j] = bottom.divide(common);
    }

    private static boolean less(BigInteger[] a, BigInteger[] b) {
        return a[0].multiply(b[1]).compareTo(b[0].multiply(a[1])) < 0;
    }

    /** A share times 2^{@code bits}, rounded down. */
    long scaled(int i, int j, int bits) {
        return numerator[i][j].shiftLeft(bits).divide(denominator[i][j]).longValueExact();
    }
}

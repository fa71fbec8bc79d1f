// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Optimisation;
import org.ojalgo.optimisation.Variable;
import org.slotwise.systems.star.model.CorePorts;

/**
 * Weighted max-min fair shares by a general solver and by their definition: raise the least weighted share of all open
 * entries as far as a linear program can, fix each entry that no solution at that level can give more, repeat.
 */
final class MaxMinByLinearProgram {
    private static final double EPSILON = 1e-7;

    private final int[][] request;
    private final int[][] weight;
    private final int capacity;
    private final CorePorts ports;
    private final double[][] share;
    private final boolean[][] open;

    private MaxMinByLinearProgram(int[][] request, int[][] weight, int capacity, CorePorts ports) {
        this.request = request;
        this.weight = weight;
        this.capacity = capacity;
        this.ports = ports;
        this.share = new double[request.length][request.length];
        this.open = new boolean[request.length][request.length];
    }

    static double[][] solve(int[][] request, int[][] weight, int capacity) {
        return solve(request, weight, capacity, CorePorts.ofItsOwn(request.length));
    }

    static double[][] solve(int[][] request, int[][] weight, int capacity, CorePorts ports) {
        MaxMinByLinearProgram problem = new MaxMinByLinearProgram(request, weight, capacity, ports);
        List<int[]> left = new ArrayList<>();
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                if (i != j && request[i][j] > 0) {
                    problem.open[i][j] = true;
                    left.add(new int[] {i, j});
                }
            }
        }
        while (!left.isEmpty()) {
            problem.fixOnce(left);
        }
        return problem.share;
    }

    private void fixOnce(List<int[]> left) {
        double level = maximise(-1, -1, 0);
        List<int[]> stuck = new ArrayList<>();
        for (int[] pair : left) {
            double least = Math.min(level * weight[pair[0]][pair[1]], request[pair[0]][pair[1]]);
            if (maximise(pair[0], pair[1], level) < least + EPSILON) {
                stuck.add(pair);
                share[pair[0]][pair[1]] = least;
            }
        }
        if (stuck.isEmpty()) {
            throw new IllegalStateException("the solver found no entry that is at its limit");
        }
        stuck.forEach(pair -> open[pair[0]][pair[1]] = false);
        left.removeAll(stuck);
    }

    /** Greatest common level of the open entries, or greatest share of one of them at the level given. */
    private double maximise(int row, int column, double level) {
        ExpressionsBasedModel model = new ExpressionsBasedModel();
        int n = request.length;
        Expression[] lines = new Expression[2 * n];
        for (int line = 0; line < 2 * n; line++) {
            lines[line] = model.newExpression("line" + line).upper(capacity);
        }
        Variable common = row < 0 ? model.newVariable("level").lower(0).upper(capacity).weight(1) : null;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (i == j || request[i][j] == 0) {
                    continue;
                }
                Variable x = model.newVariable("x" + i + "_" + j).lower(0).upper(request[i][j]);
                lines[ports.portOf(i)].set(x, 1);
                lines[n + ports.portOf(j)].set(x, 1);
                if (!open[i][j]) {
                    x.level(decimal(share[i][j] - EPSILON / 100));
                } else if (common != null) {
                    model.newExpression("rise" + i + "_" + j).lower(0).set(x, 1).set(common, -weight[i][j]);
                } else {
                    x.lower(decimal(Math.min(level * weight[i][j], request[i][j]) - EPSILON / 100));
                    if (i == row && j == column) {
                        x.weight(1);
                    }
                }
            }
        }
        Optimisation.Result result = model.maximise();
        if (!result.getState().isFeasible()) {
            throw new IllegalStateException("the solver says " + result.getState());
        }
        return result.getValue();
    }

    private static BigDecimal decimal(double value) {
        return BigDecimal.valueOf(Math.max(0, value)).setScale(12, RoundingMode.HALF_EVEN);
    }
}

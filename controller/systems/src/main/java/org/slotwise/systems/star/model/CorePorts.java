// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which edges share a port of a core. A combiner brings their light together and a splitter sends to all of them, so in
 * each slot one of them sends at most, and light is for one of them at most. Edges and ports are places: edges in the
 * order of their numbers, ports in that of their first edge, so where no port is shared both are the same. Immutable.
 */
public final class CorePorts {
    private final int[] portOf;
    private final int[][] edgesAt;

    private CorePorts(int[] portOf, int[][] edgesAt) {
        this.portOf = portOf;
        this.edgesAt = edgesAt;
    }

    /** Takes the number of each edge's port. */
    public static CorePorts of(int... numbers) {
        Map<Integer, Integer> places = new LinkedHashMap<>();
        int[] portOf = new int[numbers.length];
        for (int edge = 0; edge < numbers.length; edge++) {
            places.putIfAbsent(numbers[edge], places.size());
            portOf[edge] = places.get(numbers[edge]);
        }
        int[][] edgesAt = new int[places.size()][0];
        for (int edge = 0; edge < numbers.length; edge++) {
            int[] before = edgesAt[portOf[edge]];
            edgesAt[portOf[edge]] = Arrays.copyOf(before, before.length + 1);
            edgesAt[portOf[edge]][before.length] = edge;
        }
        return new CorePorts(portOf, edgesAt);
    }

    /** A port of its own for each of so many edges. */
    public static CorePorts ofItsOwn(int edges) {
        int[] numbers = new int[edges];
        Arrays.setAll(numbers, edge -> edge);
        return of(numbers);
    }

    /** Number of edges. */
    public int edges() {
        return portOf.length;
    }

    /** Number of ports. */
    public int count() {
        return edgesAt.length;
    }

    /** Whether any port is shared. */
    public boolean areShared() {
        return count() < edges();
    }

    /** Whether a port has several edges. */
    public boolean isShared(int port) {
        return edgesAt[port].length > 1;
    }

    /** The port of an edge. */
    public int portOf(int edge) {
        return portOf[edge];
    }

    /** How many edges a port has. */
    public int edgesAt(int port) {
        return edgesAt[port].length;
    }

    /** An edge of a port: its {@code index}-th, from 0. */
    public int edgeAt(int port, int index) {
        return edgesAt[port][index];
    }
}

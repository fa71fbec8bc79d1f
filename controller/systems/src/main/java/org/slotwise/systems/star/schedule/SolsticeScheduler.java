// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;

/**
 * Few configurations that last long, after Solstice (Liu, Mukerjee, Li, Feltman, Papen, Savage, Seshan, Voelker,
 * Andersen, Kaminsky, Porter, Snoeren, "Scheduling Techniques for Hybrid Circuit/Packet Networks", CoNEXT 2015): fair
 * shares, stuffed until all lines have the same sum, sliced into matchings of which every pair lasts at least a
 * threshold, which is halved when there is none.
 *
 * <p>Where reconfiguring the core costs slots, they stay dark before each configuration, and shares are cut until all
 * fits.
 */
final class SolsticeScheduler implements Scheduler {
    private static final int ATTEMPTS = 12;

    private final int darkSlots;
    private int edges;
    private int slots;
    private final PairWeights weights;

    SolsticeScheduler(int darkSlots, PairWeights weights) {
        this.darkSlots = darkSlots;
        this.weights = weights;
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        edges = current.edges();
        slots = current.slots();
        PairWeights placed = weights.forEdges(edges);
        int capacity = slots;
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, slots);
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            int[][] service = new Square(edges).unflatten(
                    new FairShare(edges, capacity, FairShare.Share.EQUAL, placed, false).allocate(demandSlots));
            schedule = new FrameSchedule.Builder(edges, slots);
            int missing = slice(service, schedule);
            if (missing == 0 || capacity == 1) {
                break;
            }
            capacity = Math.max(1, capacity - missing);
        }
        if (darkSlots == 0) {
            schedule.fillByRotation();
        }
        return schedule.build();
    }

    /** Connects configuration by configuration; returns how many slots too few the frame has. */
    private int slice(int[][] service, FrameSchedule.Builder schedule) {
        int[][] stuffed = quickStuff(service);
        int rest = Arrays.stream(stuffed[0]).sum();
        PerfectMatching matching = new PerfectMatching(edges);
        int slot = 0;
        int threshold = Integer.highestOneBit(Math.max(1, rest));
        while (rest > 0) {
            if (!matching.find(stuffed, threshold)) {
                threshold /= 2;
                continue;
            }
            int length = rest;
            for (int i = 0; i < edges; i++) {
                length = Math.min(length, stuffed[i][matching.receiver(i)]);
            }
            slot += darkSlots;
            for (int i = 0; i < edges; i++) {
                int j = matching.receiver(i);
                int used = Math.min(length, service[i][j]);
                for (int k = 0; k < used && slot + k < slots; k++) {
                    schedule.connect(slot + k, i, j);
                }
                service[i][j] -= used;
                stuffed[i][j] -= length;
            }
            slot += length;
            rest -= length;
        }
        return Math.max(0, slot - slots);
    }

    /** Adds to entries, first to those that are not zero, until every line has the sum of the fullest. */
    private int[][] quickStuff(int[][] service) {
        int[][] stuffed = new int[edges][];
        int[] rowRoom = new int[edges];
        int[] columnRoom = new int[edges];
        for (int i = 0; i < edges; i++) {
            stuffed[i] = service[i].clone();
            for (int j = 0; j < edges; j++) {
                rowRoom[i] -= service[i][j];
                columnRoom[j] -= service[i][j];
            }
        }
        int fullest = -Math.min(Arrays.stream(rowRoom).min().orElse(0), Arrays.stream(columnRoom).min().orElse(0));
        for (int edge = 0; edge < edges; edge++) {
            rowRoom[edge] += fullest;
            columnRoom[edge] += fullest;
        }
        for (boolean zeros : new boolean[] {false, true}) {
            for (int i = 0; i < edges; i++) {
                for (int j = 0; j < edges; j++) {
                    if (zeros || stuffed[i][j] > 0) {
                        int more = Math.min(rowRoom[i], columnRoom[j]);
                        stuffed[i][j] += more;
                        rowRoom[i] -= more;
                        columnRoom[j] -= more;
                    }
                }
            }
        }
        return stuffed;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.schedule.FrameSchedule;

/** Resources of the star as text for a terminal. */
final class StarTexts {
    private StarTexts() {
    }

    /** Writes phase, version, switches and scheduler. */
    static List<String> status(Snapshot snapshot) {
        return List.of(String.format("phase=%s, version=%s, switches=%s of %s, scheduler=%s", snapshot.phase(),
                snapshot.version().map(Object::toString).orElse("unknown"), snapshot.readyDevices().size(),
                snapshot.network().devices().size(), snapshot.scheduler().title()));
    }

    /** Writes the active schedule of each star: a line per slot, a column per sending edge, in it the receiving edge. */
    static List<String> schedule(Snapshot snapshot) {
        List<String> lines = new ArrayList<>();
        for (Snapshot star : snapshot.states()) {
            List<Edge> edges = star.network().edges();
            FrameSchedule schedule = star.schedule();
            lines.add("core " + star.network().core().id());
            lines.add("slot  " + edges.stream().map(edge -> String.format("%4s", edge.id())).collect(Collectors.joining()));
            for (int slot = 0; slot < schedule.slots(); slot++) {
                int row = slot;
                lines.add(String.format("%4d  %s", star.network().firstDataSlot() + slot, IntStream.range(0, edges.size())
                        .mapToObj(input -> receiver(edges, schedule.output(row, input))).collect(Collectors.joining())));
            }
        }
        return lines;
    }

    private static String receiver(List<Edge> edges, int output) {
        return String.format("%4s", output == FrameSchedule.NONE ? "-" : edges.get(output).id());
    }

    /** Writes the active scheduler and its settings. */
    static List<String> scheduler(Snapshot snapshot) {
        return List.of(SchedulerCodec.encode(snapshot.scheduler(), snapshot.schedulerSettings()).toString());
    }
}

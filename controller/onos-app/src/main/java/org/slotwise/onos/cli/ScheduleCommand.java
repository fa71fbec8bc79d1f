// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.karaf.shell.api.action.Command;
import org.apache.karaf.shell.api.action.lifecycle.Service;
import org.onosproject.cli.AbstractShellCommand;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.rest.SnapshotCodec;
import org.slotwise.systems.star.rest.StarResources;
import org.slotwise.systems.star.schedule.FrameSchedule;

/** The schedule in force in each star: a line a slot, a column a sending edge, in it the receiving edge. */
@Service
@Command(scope = "onos", name = "slotwise-schedule", description = "Show the active slot tables")
public final class ScheduleCommand extends AbstractShellCommand {
    @Override
    protected void doExecute() {
        Snapshot snapshot = StarResources.of(get(ControllerService.class)).snapshot();
        if (outputJson()) {
            print("%s", SnapshotCodec.schedule(snapshot));
            return;
        }
        for (Snapshot star : snapshot.states()) {
            print("core %s", star.network().core().id());
            printStar(star);
        }
    }

    private void printStar(Snapshot star) {
        List<Edge> edges = star.network().edges();
        FrameSchedule schedule = star.schedule();
        print("slot  %s", edges.stream().map(edge -> String.format("%4s", edge.id())).collect(Collectors.joining()));
        for (int slot = 0; slot < schedule.slots(); slot++) {
            int row = slot;
            print("%4d  %s", star.network().firstDataSlot() + slot, IntStream.range(0, edges.size())
                    .mapToObj(input -> receiver(edges, schedule.output(row, input))).collect(Collectors.joining()));
        }
    }

    private static String receiver(List<Edge> edges, int output) {
        return String.format("%4s", output == FrameSchedule.NONE ? "-" : edges.get(output).id());
    }
}

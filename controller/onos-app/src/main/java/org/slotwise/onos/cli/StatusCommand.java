// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import org.apache.karaf.shell.api.action.Command;
import org.apache.karaf.shell.api.action.lifecycle.Service;
import org.onosproject.cli.AbstractShellCommand;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.rest.SnapshotCodec;
import org.slotwise.systems.star.rest.StarResources;

/** What the controller is at. */
@Service
@Command(scope = "onos", name = "slotwise-status", description = "Show the controller's phase, switches and schedule")
public final class StatusCommand extends AbstractShellCommand {
    @Override
    protected void doExecute() {
        Snapshot snapshot = StarResources.of(get(ControllerService.class)).snapshot();
        if (outputJson()) {
            print("%s", SnapshotCodec.status(snapshot));
            return;
        }
        print("phase=%s, version=%s, switches=%d of %d, scheduler=%s", snapshot.phase(),
                snapshot.version().map(Object::toString).orElse("unknown"), snapshot.readyDevices().size(),
                snapshot.network().devices().size(), snapshot.scheduler().title());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.karaf.shell.api.action.Argument;
import org.apache.karaf.shell.api.action.Command;
import org.apache.karaf.shell.api.action.lifecycle.Service;
import org.onosproject.cli.AbstractShellCommand;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.rest.SchedulerCodec;
import org.slotwise.systems.star.rest.StarResources;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;

/** Shows or chooses the scheduler. */
@Service
@Command(scope = "onos", name = "slotwise-scheduler",
        description = "Show the scheduler and its settings, or select another")
public final class SchedulerCommand extends AbstractShellCommand {
    @Argument(index = 0, name = "name", description = "Scheduler to select")
    String name;

    @Argument(index = 1, name = "setting=value", multiValued = true,
            description = "Settings; omitted ones get their defaults")
    List<String> settings;

    @Override
    protected void doExecute() {
        StarResources star = StarResources.of(get(ControllerService.class));
        if (name == null) {
            Snapshot snapshot = star.snapshot();
            print("%s", SchedulerCodec.encode(snapshot.scheduler(), snapshot.schedulerSettings()));
            return;
        }
        try {
            SchedulerChosen choice = choice(name, settings == null ? List.of() : settings);
            star.choose(choice);
            print("%s", SchedulerCodec.encode(choice.kind(), choice.settings()));
        } catch (InvalidSettingsException e) {
            error("%s", e.getMessage());
        }
    }

    static SchedulerChosen choice(String name, List<String> settings) throws InvalidSettingsException {
        SchedulerKind kind = Schedulers.ours().named(name);
        Map<String, String> values = new TreeMap<>();
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            if (equals < 1) {
                throw new InvalidSettingsException("expected a setting name=value, got '" + setting + "'");
            }
            values.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
        return new SchedulerChosen(kind, kind.completeSettings(values));
    }
}

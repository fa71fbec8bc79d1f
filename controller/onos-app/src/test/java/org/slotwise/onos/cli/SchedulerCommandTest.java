// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;
import org.slotwise.systems.star.schedule.Setting;

class SchedulerCommandTest {
    @Test
    void settingsAreNameAndValue() throws Exception {
        SchedulerKind kind = Schedulers.ours().named("fair");
        Setting setting = kind.settings().get(0);
        SchedulerChosen choice =
                SchedulerCommand.choice("fair", List.of(setting.name() + "=" + setting.defaultValue()));
        assertEquals(kind, choice.kind());
        assertEquals(setting.defaultValue(), choice.settings().get(setting.name()));
    }

    @Test
    void badNamesAndSettingsAreRefused() {
        assertThrows(InvalidSettingsException.class, () -> SchedulerCommand.choice("best", List.of()));
        assertThrows(InvalidSettingsException.class, () -> SchedulerCommand.choice("fair", List.of("share")));
        assertThrows(InvalidSettingsException.class, () -> SchedulerCommand.choice("fair", List.of("no-such=1")));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.io.IOException;
import java.util.Optional;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.AppState;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.Network;

/** Parts of stars that tests make without a document. */
public final class StarParts {
    private StarParts() {
    }

    /** Of a network, with this scheduler configured. */
    public static StarPart of(Network network, SchedulerChosen configured) {
        return new StarPart(network, configured);
    }

    /** Stores a scheduler in the place of the configured one. */
    public static void store(AppState state, Network network, SchedulerChosen chosen, SchedulerChosen configured) throws IOException {
        SystemSetting<Snapshot, String, SchedulerChosen> setting = StarResources.scheduler(network, configured);
        setting.change("", chosen).store(state);
    }

    /** The scheduler that is stored in the place of the configured one. */
    public static Optional<SchedulerChosen> stored(AppState state, Network network, SchedulerChosen configured) {
        return StarResources.scheduler(network, configured).stored(state);
    }
}

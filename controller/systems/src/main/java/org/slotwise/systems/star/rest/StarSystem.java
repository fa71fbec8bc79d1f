// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.StarTopology;
import org.slotwise.systems.star.rest.custom.CustomSchedulers;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Schedulers;

/** Slotted stars. */
public final class StarSystem implements SystemKind<Snapshot> {
    private final Schedulers schedulers;

    /** Takes the schedulers that come with the controller. */
    public StarSystem() {
        this(Schedulers.ours());
    }

    /** Takes all schedulers that can be chosen. */
    public StarSystem(Schedulers schedulers) {
        this.schedulers = schedulers;
    }

    @Override
    public String id() {
        return StarApp.ID;
    }

    @Override
    public boolean mayBeWholeDocument() {
        return true;
    }

    @Override
    public List<String> programs() {
        return List.of(StarTopology.EDGE, StarTopology.CORE);
    }

    @Override
    public Optional<String> section() {
        return Optional.of("schedulers");
    }

    @Override
    public CustomSchedulers extend(String where, JsonNode section, boolean isVirtualTime) throws IOException, InvalidJsonException {
        return CustomSchedulers.read(where, section, isVirtualTime);
    }

    @Override
    public StarPart read(String where, JsonNode value) throws InvalidJsonException {
        Network network = NetworkCodec.decode(where, value);
        JsonFields fields = JsonFields.open(where, value);
        try {
            SchedulerChosen scheduler = SchedulerCodec.decode(fields.place("scheduler"), fields.required("scheduler"), schedulers);
            scheduler.kind().checkEdges(scheduler.settings(), network.edges().size());
            return new StarPart(network, scheduler);
        } catch (InvalidSettingsException e) {
            throw new InvalidJsonException(fields.place("scheduler"), e.getMessage());
        }
    }
}

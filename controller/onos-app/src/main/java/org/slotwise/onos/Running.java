// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import org.slotwise.rest.system.HostedSystems;
import org.slotwise.onos.flow.OnosSwitches;

/** Systems of one configuration, and the term that this node rules in. */
final class Running {
    final ControllerRunner runner;
    final JsonNode configuration;
    final HostedSystems systems;
    final Term term;
    private final OnosSwitches switches;

    Running(ControllerRunner runner, JsonNode configuration, HostedSystems systems, OnosSwitches switches, Term term) {
        this.runner = runner;
        this.configuration = configuration;
        this.systems = systems;
        this.switches = switches;
        this.term = term;
    }

    /** Takes a packet from a switch, unless it is older than a commit of a leader before. */
    void packetIn(PacketInMessage message) {
        long nowNs = System.nanoTime();
        if (term.commits().isOld(message.frame(), nowNs)) {
            term.commits().again(message.frame(), nowNs)
                    .ifPresent(commit -> switches.send(commit.device(), commit.port(), commit.frame()));
        } else {
            runner.packetIn(message.device(), message.port(), message.frame());
        }
    }
}

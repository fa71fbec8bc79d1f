// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.slotwise.onos.flow.OnosSwitches;

/** Applications, and the term that this node rules in. */
final class Running {
    final ControllerRunner runner;
    final HostedApps apps;
    final Term term;
    private final OnosSwitches switches;

    Running(ControllerRunner runner, HostedApps apps, OnosSwitches switches, Term term) {
        this.runner = runner;
        this.apps = apps;
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

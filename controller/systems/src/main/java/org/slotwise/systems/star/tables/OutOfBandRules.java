// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.WireConstants;

/**
 * What edges need for signaling out of band: at the start of each frame every edge sends its requests to the controller,
 * and the master the beacons of all slaves, which the controller hands on. The core hears the master as ever. Slaves that
 * join by invitation get beacons only when they have ({@link MemberOrder}), and send light to be measured.
 */
final class OutOfBandRules {
    /** All but light that is measured is said in this slot. */
    private static final int SLOT = 0;

    private OutOfBandRules() {
    }

    /** The tick with {@code repeat} r of slot 0 sends the r-th message: beacons, but to some slaves, then requests. */
    static List<TableEntry> messages(Network network, Edge edge, Set<EdgeId> withoutBeacon) {
        List<TableEntry> rules = new ArrayList<>();
        int firstRequest = 1;
        if (edge == network.master()) {
            rules.add(commit(network, 1, edge, WireConstants.PORT_CORE_CONTROL));
            for (Edge slave : network.edges()) {
                if (slave != edge && !network.byInvitation() && !withoutBeacon.contains(slave.id())) {
                    rules.add(beacon(network, slave));
                }
            }
            firstRequest += network.edges().size();
        } else if (network.byInvitation()) {
            int slot = network.signalingSlot(edge);
            rules.add(message(network, slot, SwitchRules.firstLight(network, edge, slot)).action("send_sync")
                    .param("edge", network.master().id().value()).param("port", edge.fibre().port()).build());
        }
        for (int block = 0; block < network.requestBlocks(); block++) {
            rules.add(message(network, SLOT, firstRequest + block).action("send_request")
                    .param("block", network.firstRequestBlock() + block).param("port", WireConstants.PORT_CPU).build());
        }
        return rules;
    }

    /** How many messages an edge may say in slot 0. */
    static int messages(Network network, Edge edge) {
        return network.requestBlocks() + (edge == network.master() ? network.edges().size() : 0);
    }

    /** The master's beacon for a slave, each at its own place behind the core's. */
    static TableEntry beacon(Network network, Edge slave) {
        int place = network.indexOf(slave.id()).orElseThrow();
        boolean isBehindMaster = place > network.indexOf(network.master().id()).orElseThrow();
        return commit(network, isBehindMaster ? place + 1 : place + 2, slave, WireConstants.PORT_CPU);
    }

    private static TableEntry commit(Network network, int repeat, Edge to, int port) {
        return message(network, SLOT, repeat).action("send_commit")
                .param("edge", to.id().value()).param("port", port).build();
    }

    private static TableEntry.Builder message(Network network, int slot, int repeat) {
        return TableEntry.in(SwitchRules.SIGNALING).exact(SwitchRules.CORE, network.core().id().value())
                .exact("slot", slot).exact("repeat", repeat);
    }
}

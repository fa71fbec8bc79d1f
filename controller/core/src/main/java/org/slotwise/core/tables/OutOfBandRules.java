// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.tables;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.EdgeId;
import org.slotwise.core.network.Network;
import org.slotwise.core.wire.WireConstants;

/**
 * What edges need for signaling out of band: at the start of each frame every edge sends its requests to the controller,
 * and the master the beacons of all slaves, which the controller hands on. The core hears the master as ever.
 */
final class OutOfBandRules {
    private static final int SLOT = 0;

    private OutOfBandRules() {
    }

    /** The tick with {@code repeat} r of slot 0 sends the r-th message: beacons, but to some slaves, then requests. */
    static List<TableEntry> messages(Network network, Edge edge, Set<EdgeId> withoutBeacon) {
        List<TableEntry> rules = new ArrayList<>();
        int repeat = 1;
        if (edge == network.master()) {
            rules.add(beacon(network, repeat++, edge, WireConstants.PORT_CORE_CONTROL));
            for (Edge slave : network.edges()) {
                if (slave != edge && !withoutBeacon.contains(slave.id())) {
                    rules.add(beacon(network, repeat, slave, WireConstants.PORT_CPU));
                }
                repeat += slave == edge ? 0 : 1;
            }
        }
        for (int block = 0; block < network.requestBlocks(); block++) {
            rules.add(message(network, repeat++).action("send_request")
                    .param("block", block).param("port", WireConstants.PORT_CPU).build());
        }
        return rules;
    }

    private static TableEntry beacon(Network network, int repeat, Edge to, int port) {
        return message(network, repeat).action("send_commit")
                .param("edge", to.id().value()).param("port", port).build();
    }

    private static TableEntry.Builder message(Network network, int repeat) {
        return TableEntry.in(SwitchRules.SIGNALING).exact(SwitchRules.CORE, network.core().id().value())
                .exact("slot", SLOT).exact("repeat", repeat);
    }
}

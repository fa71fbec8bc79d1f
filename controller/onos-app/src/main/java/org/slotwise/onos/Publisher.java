// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.slotwise.control.topology.Topology;
import org.slotwise.onos.api.SlotwiseEvent;

/** Where this node tells the rest of ONOS what its controller does. */
interface Publisher {
    /** Something happened. */
    void post(SlotwiseEvent event);

    /** These switches, links and hosts are what the controller runs; those of before that are not among them are gone. */
    void publish(Topology topology);

    /** Nothing runs any more: what this node has shown is gone. */
    void withdraw();

    /** Another node shows what runs: what this one has shown is that one's affair. */
    void leave();
}

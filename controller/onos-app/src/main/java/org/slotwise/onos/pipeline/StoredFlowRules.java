// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.onosproject.drivers.p4runtime.P4RuntimeFlowRuleProgrammable;
import org.onosproject.net.flow.DefaultFlowEntry;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRuleService;

/**
 * Tells ONOS that a switch has the rules that ONOS thinks it has. A node that becomes a switch's master asks, and would write what is
 * missing and delete what it does not know, by a copy of rules and mirror that is seconds old if the master before is gone: into the
 * schedule in force. The app reads the switch itself before it writes.
 */
public final class StoredFlowRules extends P4RuntimeFlowRuleProgrammable {
    @Override
    public Collection<FlowEntry> getFlowEntries() {
        List<FlowEntry> entries = new ArrayList<>();
        for (FlowEntry rule : handler().get(FlowRuleService.class).getFlowEntries(data().deviceId())) {
            boolean isToBeThere = rule.state() == FlowEntry.FlowEntryState.ADDED || rule.state() == FlowEntry.FlowEntryState.PENDING_ADD;
            if (isToBeThere) {
                entries.add(new DefaultFlowEntry(rule, FlowEntry.FlowEntryState.ADDED, rule.life(), rule.packets(), rule.bytes()));
            }
        }
        return entries;
    }
}

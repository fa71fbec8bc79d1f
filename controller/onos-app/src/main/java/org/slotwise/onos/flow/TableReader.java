// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.pi.model.PiPipeconf;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;

/** Reads what a switch's tables hold. */
public interface TableReader {
    /** The flow rule of an entry of one switch. */
    interface RuleOf {
        /** Throws IllegalArgumentException if the switch's program lacks one of the entry's names. */
        FlowRule of(TableEntry entry);
    }

    /**
     * Reads all entries that the controller may have written, and makes them known to ONOS's P4Runtime driver as what
     * the switch holds. Waits for the switch; throws {@link SwitchUnavailableException}.
     */
    List<TableEntry> read(DeviceId device, PiPipeconf program, RuleOf rules);
}

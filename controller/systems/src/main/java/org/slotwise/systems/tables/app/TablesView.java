// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.app;

import java.util.List;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;

/** View of a {@link TablesApp}. Immutable. */
public final class TablesView {
    private final boolean configured;
    private final List<Entries> switches;
    private final long writeFailures;

    /** Entries of a switch. */
    public static final class Entries {
        private final DeviceId device;
        private final boolean ready;
        private final boolean settled;
        private final List<TableEntry> entries;

        Entries(DeviceId device, boolean ready, boolean settled, List<TableEntry> entries) {
            this.device = device;
            this.ready = ready;
            this.settled = settled;
            this.entries = entries;
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }

        /** Returns true if the switch is connected. */
        public boolean isReady() {
            return ready;
        }

        /** Returns true if the switch acknowledged all entries. */
        public boolean isSettled() {
            return settled;
        }

        /** Intended entries. */
        public List<TableEntry> entries() {
            return entries;
        }
    }

    TablesView(boolean configured, List<Entries> switches, long writeFailures) {
        this.configured = configured;
        this.switches = List.copyOf(switches);
        this.writeFailures = writeFailures;
    }

    /** Returns true if each switch has had its entries at least once. */
    public boolean isConfigured() {
        return configured;
    }

    /** Entries by switch. */
    public List<Entries> switches() {
        return switches;
    }

    /** Number of batches rejected by switches. */
    public long writeFailures() {
        return writeFailures;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.Ports;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.systems.tables.app.TablesApp;
import org.slotwise.systems.tables.app.TablesView;
import org.slotwise.systems.tables.model.FixedEntries;

/** Fixed entries for tables of other systems' switches. */
public final class TablesSystem implements SystemKind<TablesView> {
    private static final View.Fields<TablesView> STATUS = View.<TablesView>object("Status of the entries")
            .field("configured", View.FLAG, TablesView::isConfigured)
            .field("entries", View.COUNT, view -> view.switches().stream().mapToInt(each -> each.entries().size()).sum())
            .field("write_failures", View.COUNT, TablesView::writeFailures);
    private static final View<TablesView.Entries> SWITCH = View.<TablesView.Entries>object()
            .field("device_id", Ports.ID, TablesView.Entries::device)
            .field("ready", View.FLAG.described("If true, the switch is connected."), TablesView.Entries::isReady)
            .field("settled", View.FLAG.described("If true, the switch acknowledged all entries."), TablesView.Entries::isSettled)
            .field("entries", View.longList(View.TEXT.of(TableEntry::toString)), TablesView.Entries::entries);
    private static final View.Fields<TablesView> ENTRIES = View.<TablesView>object("Intended entries of each switch")
            .field("switches", View.list(SWITCH), TablesView::switches);

    @Override
    public String id() {
        return TablesApp.ID;
    }

    /** Returns no programs: the switches and their programs belong to other systems. */
    @Override
    public List<String> programs() {
        return List.of();
    }

    @Override
    public SystemPart<TablesView> read(String where, JsonNode value) throws InvalidJsonException {
        FixedEntries entries = TablesCodec.decode(where, value);
        return new SystemPart<>(new Topology.Builder().build(), () -> new TablesApp(entries),
                new ResourceTable<TablesView>(TablesApp.ID, "Fixed entries for tables that no other application writes.")
                        .read("status", STATUS)
                        .read("entries", ENTRIES)
                        .metrics(TablesSystem::metrics));
    }

    private static List<Metric> metrics(TablesView view) {
        return List.of(
                Metric.gauge("tables_settled_switches", "Switches that acknowledged all entries.",
                        view.switches().stream().filter(TablesView.Entries::isSettled).count()),
                Metric.counter("tables_write_failures", "Batches rejected by switches.", view.writeFailures()));
    }
}

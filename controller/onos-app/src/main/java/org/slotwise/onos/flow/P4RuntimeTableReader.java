// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.onosproject.drivers.p4runtime.mirror.P4RuntimeTableMirror;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiTableModel;
import org.onosproject.net.pi.runtime.PiTableEntry;
import org.onosproject.net.pi.runtime.PiTableEntryHandle;
import org.onosproject.net.pi.service.PiFlowRuleTranslator;
import org.onosproject.net.pi.service.PiTranslatedEntity;
import org.onosproject.net.pi.service.PiTranslationException;
import org.onosproject.p4runtime.api.P4RuntimeClient;
import org.onosproject.p4runtime.api.P4RuntimeController;
import org.onosproject.p4runtime.api.P4RuntimeReadClient;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.SlotwiseDevices;

/**
 * Reads over ONOS's P4Runtime client, beside ONOS's own reading: that deletes what it does not know, and after a
 * restart it knows nothing while light follows the tables. So what was read is told to ONOS's translator and to its
 * driver's mirror of the switch, which the {@code slotwise} driver believes.
 */
public final class P4RuntimeTableReader implements TableReader {
    private final P4RuntimeController clients;
    private final PiFlowRuleTranslator translator;
    private final P4RuntimeTableMirror mirror;

    /** Takes ONOS's services. */
    public P4RuntimeTableReader(
            P4RuntimeController clients, PiFlowRuleTranslator translator, P4RuntimeTableMirror mirror) {
        this.clients = clients;
        this.translator = translator;
        this.mirror = mirror;
    }

    @Override
    public List<TableEntry> read(DeviceId device, PiPipeconf program, RuleOf rules) {
        ProgramNames names = new ProgramNames(program.pipelineModel());
        List<TableEntry> entries = new ArrayList<>();
        List<PiTableEntry> known = new ArrayList<>();
        for (PiTableEntry read : readAll(device, program)) {
            Optional<TableEntry> entry = names.knows(read.table()) ? RuleTranslator.entry(read) : Optional.empty();
            if (entry.isPresent() && !read.isDefaultAction()) {
                entries.add(entry.get());
                known.add(learn(device, program, rules.of(entry.get())));
            }
        }
        mirror.sync(SlotwiseDevices.onos(device), known);
        return entries;
    }

    private Iterable<PiTableEntry> readAll(DeviceId device, PiPipeconf program) {
        P4RuntimeClient client = clients.get(SlotwiseDevices.onos(device));
        if (client == null) {
            throw new SwitchUnavailableException("device " + device + ": ONOS has no P4Runtime client");
        }
        P4RuntimeReadClient.ReadRequest request = client.read(device.value(), program);
        program.pipelineModel().tables().stream().filter(table -> !table.isConstantTable())
                .map(PiTableModel::id).forEach(request::tableEntries);
        P4RuntimeReadClient.ReadResponse response = request.submitSync();
        if (!response.isSuccess()) {
            throw new SwitchUnavailableException("device " + device + ": tables not read: " + response.explanation());
        }
        return response.all(PiTableEntry.class);
    }

    /** The entry as ONOS's driver would write it. */
    private PiTableEntry learn(DeviceId device, PiPipeconf program, FlowRule rule) {
        try {
            PiTableEntry entry = translator.translate(rule, program);
            PiTableEntryHandle handle = entry.handle(SlotwiseDevices.onos(device));
            translator.learn(handle, new PiTranslatedEntity<>(rule, entry, handle));
            return entry;
        } catch (PiTranslationException e) {
            throw new SwitchUnavailableException(
                    "device " + device + ": incompatible program: " + e.getMessage() + ": " + rule);
        }
    }
}

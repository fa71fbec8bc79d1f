// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.onosproject.net.pi.model.PiMeterId;
import org.onosproject.net.pi.model.PiMeterModel;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiPipelineModel;
import org.onosproject.net.pi.runtime.PiMeterCellConfig;
import org.onosproject.net.pi.runtime.PiMeterCellId;
import org.onosproject.p4runtime.api.P4RuntimeClient;
import org.onosproject.p4runtime.api.P4RuntimeController;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.SlotwiseDevices;

/**
 * Writes over ONOS's P4Runtime client: ONOS's own meters are numbered by ONOS, and a cell's number means something here. A switch takes
 * that from its master only.
 */
public final class P4RuntimeMeterWriter implements MeterWriter {
    private final P4RuntimeController clients;

    /** Takes ONOS's clients. */
    public P4RuntimeMeterWriter(P4RuntimeController clients) {
        this.clients = clients;
    }

    @Override
    public CompletableFuture<Void> write(DeviceId device, PiPipeconf program, List<Update> cells) {
        P4RuntimeClient client = clients.get(SlotwiseDevices.onos(device));
        if (client == null) {
            return CompletableFuture.failedFuture(new SwitchUnavailableException("device " + device + ": ONOS has no P4Runtime client"));
        }
        List<PiMeterCellConfig> configs = cells.stream().map(cell -> config(program.pipelineModel(), cell)).collect(Collectors.toList());
        return client.write(device.value(), program).modify(configs).submit().thenAccept(response -> {
            if (!response.isSuccess()) {
                throw new SwitchUnavailableException(
                        "device " + device + ": " + response.failed().size() + " meter cells rejected; see ONOS's log");
            }
        });
    }

    /** The rates of a cell, or none; throws IllegalArgumentException if the program has no such meter. */
    static PiMeterCellConfig config(PiPipelineModel program, Update update) {
        TableEntry cell = update.entry();
        PiMeterId meter = program.meters().stream().map(PiMeterModel::id)
                .filter(id -> ProgramNames.shortName(id.id()).equals(cell.table())).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the P4 program has no meter '" + cell.table() + "'"));
        PiMeterCellId id = PiMeterCellId.ofIndirect(meter, cell.matchValue(MeterCell.INDEX).orElseThrow());
        if (update.type() == Update.Type.DELETE) {
            return PiMeterCellConfig.reset(id);
        }
        Map<String, Long> rates = cell.params();
        return PiMeterCellConfig.builder().withMeterCellId(id)
                .withCommittedBand(rates.get(MeterCell.COMMITTED_RATE), rates.get(MeterCell.COMMITTED_BURST))
                .withPeakBand(rates.get(MeterCell.PEAK_RATE), rates.get(MeterCell.PEAK_BURST)).build();
    }
}

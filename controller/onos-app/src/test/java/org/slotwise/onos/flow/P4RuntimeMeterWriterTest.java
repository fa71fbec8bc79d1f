// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.onosproject.net.pi.model.PiPipelineModel;
import org.onosproject.net.pi.runtime.PiMeterCellConfig;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.Update;
import org.slotwise.onos.pipeline.Programs;

class P4RuntimeMeterWriterTest {
    @Test
    void aCellHasItsRatesAndIsSetBackWhenItIsDeleted() throws Exception {
        PiPipelineModel ring = Programs.load("ring").pipelineModel();
        Update update = new Update(Update.Type.INSERT, MeterCell.of("ingress_rate", 7, 250_000, 3000, 500_000, 6000));
        PiMeterCellConfig config = P4RuntimeMeterWriter.config(ring, update);
        assertEquals("RingIngress.ingress_rate", config.cellId().meterId().id());
        assertEquals(7, config.cellId().index());
        assertEquals(250_000, config.committedBand().rate());
        assertEquals(3000, config.committedBand().burst());
        assertEquals(500_000, config.peakBand().rate());
        assertEquals(6000, config.peakBand().burst());
        assertTrue(P4RuntimeMeterWriter.config(ring, new Update(Update.Type.DELETE, update.entry())).isDefaultConfig());
        assertEquals("the P4 program has no meter 'ingress_rate'", assertThrows(IllegalArgumentException.class,
                () -> P4RuntimeMeterWriter.config(Programs.load("edge").pipelineModel(), update)).getMessage());
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.slotwise.wire.CheckHeader;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.ReportSourceHeader;
import org.slotwise.wire.RingHeader;
import org.slotwise.wire.RingKind;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.RingReportHeader;
import org.slotwise.wire.WireConstants;

/** Reports as stations make them. Rates are in byte/s. */
public final class ReportMessage {
    private final int station;
    private final int ringlet;
    private final long localNs;
    private long linkRate;
    private long toldRate = WireConstants.NO_LIMIT;
    private int phase = RingPhase.CONGESTED.code();
    private int block;
    private final long[] rates = new long[WireConstants.REPORT_SOURCES];

    /** Of a station's link on a ringlet, at a time of its card. */
    public ReportMessage(int station, int ringlet, long localNs) {
        this.station = station;
        this.ringlet = ringlet;
        this.localNs = localNs;
    }

    ReportMessage phase(int code) {
        phase = code;
        return this;
    }

    ReportMessage told(long rate) {
        toldRate = rate;
        return this;
    }

    ReportMessage link(long rate) {
        linkRate = rate;
        return this;
    }

    ReportMessage block(int number) {
        block = number;
        return this;
    }

    /** What a station of the block puts on the link. */
    public ReportMessage source(int number, long rate) {
        rates[number % WireConstants.REPORT_SOURCES] = rate;
        return this;
    }

    /** The bytes from Ethernet on. */
    public byte[] encode() {
        byte[] ring = new RingHeader(WireConstants.RING_VERSION, RingKind.REPORT.code(), 1, ringlet, 0, 1, station, station).encode();
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.writeBytes(new RingReportHeader(localNs, linkRate, 0, toldRate, 77, phase, block, 0).encode());
        Arrays.stream(rates).forEach(rate -> body.writeBytes(new ReportSourceHeader(rate).encode()));
        CRC32 crc = new CRC32();
        crc.update(ring);
        crc.update(body.toByteArray());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(new EthernetHeader(0x02fd00000000L, 0, WireConstants.ETHERTYPE_OPTICAL).encode());
        bytes.writeBytes(ring);
        bytes.writeBytes(new CheckHeader(crc.getValue()).encode());
        bytes.writeBytes(body.toByteArray());
        return bytes.toByteArray();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.zip.CRC32;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.wire.CheckHeader;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.ReportSourceHeader;
import org.slotwise.wire.RingHeader;
import org.slotwise.wire.RingKind;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.RingReportHeader;
import org.slotwise.wire.WireConstants;

/** What a station tells of one of its links: one block of its sources. Rates are in byte/s. Immutable. */
final class Report {
    private static final int RING = EthernetHeader.SIZE;
    private static final int CHECK = RING + RingHeader.SIZE;
    private static final int PAYLOAD = CHECK + CheckHeader.SIZE;
    private static final int SOURCES = PAYLOAD + RingReportHeader.SIZE;
    private static final int SIZE = SOURCES + WireConstants.REPORT_SOURCES * ReportSourceHeader.SIZE;

    private final int station;
    private final int ringlet;
    private final RingPhase phase;
    private final RingReportHeader header;
    private final long[] rates;

    private Report(int station, int ringlet, RingPhase phase, RingReportHeader header, long[] rates) {
        this.station = station;
        this.ringlet = ringlet;
        this.phase = phase;
        this.header = header;
        this.rates = rates;
    }

    /** A packet that is no acceptable report. */
    static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final ReportRefusal reason;

        /** Takes the reason; there is no stack trace, since refusing is ordinary. */
        RefusedException(ReportRefusal reason) {
            super(reason.name(), null, false, false);
            this.reason = reason;
        }

        ReportRefusal reason() {
            return reason;
        }
    }

    /** Whether a packet says that it is a report. */
    static boolean isOne(byte[] frame) {
        return EthernetHeader.decode(frame, 0).filter(ethernet -> ethernet.etherType() == WireConstants.ETHERTYPE_OPTICAL)
                .flatMap(ethernet -> RingHeader.decode(frame, RING))
                .filter(ring -> ring.version() == WireConstants.RING_VERSION && ring.kind() == RingKind.REPORT.code()).isPresent();
    }

    /**
     * Reads a packet for which {@link #isOne} holds.
     *
     * @param station number of the station that it came from
     * @param port its ingress port
     */
    static Report read(RingNetwork network, int station, int port, byte[] frame) throws RefusedException {
        if (frame.length < SIZE) {
            throw new RefusedException(ReportRefusal.TRUNCATED);
        }
        if (CheckHeader.decode(frame, CHECK).orElseThrow().crc() != crc(frame)) {
            throw new RefusedException(ReportRefusal.BAD_CHECK);
        }
        if (port != WireConstants.PORT_LINECARD) {
            throw new RefusedException(ReportRefusal.UNEXPECTED_PORT);
        }
        RingHeader ring = RingHeader.decode(frame, RING).orElseThrow();
        if (ring.source() != station) {
            throw new RefusedException(ReportRefusal.NOT_A_MEMBER);
        }
        RingReportHeader header = RingReportHeader.decode(frame, PAYLOAD).orElseThrow();
        RingPhase phase = RingPhase.fromCode(header.phase()).orElseThrow(() -> new RefusedException(ReportRefusal.BAD_FIELD));
        boolean hasLink = ring.ringlet() < WireConstants.RINGLETS && network.linkOut(station, ring.ringlet()).isPresent();
        if (!hasLink || header.block() >= blocks(network)) {
            throw new RefusedException(ReportRefusal.BAD_FIELD);
        }
        int first = header.block() * WireConstants.REPORT_SOURCES;
        long[] rates = new long[Math.min(WireConstants.REPORT_SOURCES, network.stations().size() - first)];
        for (int i = 0; i < rates.length; i++) {
            rates[i] = ReportSourceHeader.decode(frame, SOURCES + i * ReportSourceHeader.SIZE).orElseThrow().rate();
        }
        return new Report(station, ring.ringlet(), phase, header, rates);
    }

    private static long crc(byte[] frame) {
        CRC32 crc = new CRC32();
        crc.update(frame, RING, RingHeader.SIZE);
        crc.update(frame, PAYLOAD, SIZE - PAYLOAD);
        return crc.getValue();
    }

    /** Blocks that the sources of a link have. */
    static int blocks(RingNetwork network) {
        return (network.stations().size() + WireConstants.REPORT_SOURCES - 1) / WireConstants.REPORT_SOURCES;
    }

    int station() {
        return station;
    }

    int ringlet() {
        return ringlet;
    }

    RingPhase phase() {
        return phase;
    }

    /** The rest of it. */
    RingReportHeader header() {
        return header;
    }

    /** Number of the first station of {@link #rates}. */
    int firstSource() {
        return header.block() * WireConstants.REPORT_SOURCES;
    }

    /** What stations have put on the link in the last window that had some; NO_LIMIT: not known, or more in this one. */
    long[] rates() {
        return rates;
    }
}

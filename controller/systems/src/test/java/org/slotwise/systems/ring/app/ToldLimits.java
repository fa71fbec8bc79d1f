// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.slotwise.wire.CheckHeader;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FairnessEntryHeader;
import org.slotwise.wire.FairnessHeader;
import org.slotwise.wire.RingHeader;
import org.slotwise.wire.RingKind;
import org.slotwise.wire.WireConstants;

/** What a message of the controller says, read as a station reads it. */
final class ToldLimits {
    private static final int CHECK = EthernetHeader.SIZE + RingHeader.SIZE;
    private static final int BODY = CHECK + CheckHeader.SIZE;
    private static final int SIZE = BODY + FairnessHeader.SIZE + WireConstants.FAIRNESS_ENTRIES * FairnessEntryHeader.SIZE;

    private final RingHeader ring;
    private final FairnessHeader fairness;
    private final List<FairnessEntryHeader> entries = new ArrayList<>();

    /** Fails for what {@code ring.p4} would refuse, but for its number. */
    ToldLimits(byte[] frame, int station, int stations) {
        assertEquals(SIZE, frame.length);
        ring = RingHeader.decode(frame, EthernetHeader.SIZE).orElseThrow();
        assertEquals(RingKind.FAIRNESS.code(), ring.kind());
        assertEquals(station, ring.destination());
        CRC32 crc = new CRC32();
        crc.update(frame, EthernetHeader.SIZE, RingHeader.SIZE);
        crc.update(frame, BODY, SIZE - BODY);
        assertEquals(crc.getValue(), CheckHeader.decode(frame, CHECK).orElseThrow().crc());
        fairness = FairnessHeader.decode(frame, BODY).orElseThrow();
        int nearest = -1;
        for (int i = 0; i < fairness.entries(); i++) {
            FairnessEntryHeader entry =
                    FairnessEntryHeader.decode(frame, BODY + FairnessHeader.SIZE + i * FairnessEntryHeader.SIZE).orElseThrow();
            assertEquals(true, entry.hops() > nearest && entry.hops() < stations && entry.head() < stations && entry.rate() > 0, entry.toString());
            assertEquals(entry.hops() == 0, entry.head() == station);
            nearest = entry.hops();
            entries.add(entry);
        }
    }

    int ringlet() {
        return ring.ringlet();
    }

    long sequence() {
        return fairness.sequence();
    }

    List<FairnessEntryHeader> entries() {
        return entries;
    }

    /** Byte/s by weight for what goes so many hops. */
    double rate(int hops) {
        return entries.stream().filter(entry -> hops > entry.hops()).mapToDouble(FairnessEntryHeader::rate).min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    @Override
    public String toString() {
        return entries.toString();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.wire.CheckHeader;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FairnessEntryHeader;
import org.slotwise.wire.FairnessHeader;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingHeader;
import org.slotwise.wire.RingKind;
import org.slotwise.wire.WireConstants;

/** What the controller tells a station that it may add to a ringlet: a packet-out to PORT_SELF. */
final class FairnessMessage {
    private static final FairnessEntryHeader UNUSED = new FairnessEntryHeader(0, 0, 0, 0);

    private FairnessMessage() {
    }

    /** One limit: of what travels over the link behind a head a station may add a rate, byte/s by weight, 1 or more. */
    static final class Limit {
        private final int head;
        private final int hops;
        private final long rate;

        Limit(int head, int hops, long rate) {
            this.head = head;
            this.hops = hops;
            this.rate = rate;
        }

        int hops() {
            return hops;
        }

        long rate() {
            return rate;
        }

        private FairnessEntryHeader encoded() {
            // Nobody is told on: the controller tells each station itself.
            return new FairnessEntryHeader(head, hops, 0, rate);
        }
    }

    /**
     * What matters of limits that are sorted by distance: each lower than the nearer ones, and at most FAIRNESS_ENTRIES; of one more
     * the lower rate counts from the nearer link on. The same rules as {@code ring_limits.p4}.
     */
    static List<Limit> list(List<Limit> limits) {
        List<Limit> held = new ArrayList<>();
        long least = WireConstants.NO_LIMIT;
        for (Limit limit : limits) {
            if (limit.rate < least) {
                least = limit.rate;
                if (held.size() == WireConstants.FAIRNESS_ENTRIES) {
                    Limit last = held.remove(held.size() - 1);
                    held.add(new Limit(last.head, last.hops, limit.rate));
                } else {
                    held.add(limit);
                }
            }
        }
        return held;
    }

    /** The bytes, from Ethernet on; {@code limits} are a {@link #list}, {@code sequence} is modulo 2^32. */
    static byte[] encode(Station station, int number, int ringlet, long sequence, List<Limit> limits) {
        byte[] ring = new RingHeader(WireConstants.RING_VERSION, RingKind.FAIRNESS.code(), 1, ringlet, RingClass.BEST_EFFORT.code(), 1,
                number, number).encode();
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.writeBytes(new FairnessHeader(sequence, limits.size()).encode());
        for (int entry = 0; entry < WireConstants.FAIRNESS_ENTRIES; entry++) {
            body.writeBytes((entry < limits.size() ? limits.get(entry).encoded() : UNUSED).encode());
        }
        CRC32 crc = new CRC32();
        crc.update(ring);
        crc.update(body.toByteArray());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(new EthernetHeader(station.mac().value(), 0, WireConstants.ETHERTYPE_OPTICAL).encode());
        bytes.writeBytes(ring);
        bytes.writeBytes(new CheckHeader(crc.getValue()).encode());
        bytes.writeBytes(body.toByteArray());
        return bytes.toByteArray();
    }
}

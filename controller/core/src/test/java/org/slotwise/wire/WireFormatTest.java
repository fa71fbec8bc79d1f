// SPDX-License-Identifier: Apache-2.0
package org.slotwise.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The generated codecs against bytes written by hand; the engine's tests have the same ones. */
class WireFormatTest {

    private static final byte[] OPTICAL = bytes(
            0x12, 0x03, 0x01, 0x02, 0x03, 0x04, 0x03, 0xff, 0x02, 0x05, 0x80, 0x01, 0x00, 0x07, 0x08, 0x00);
    private static final OpticalHeader OPTICAL_HEADER = new OpticalHeader(
            WireConstants.OPTICAL_VERSION, OpticalKind.COMMIT.code(), 3, 0x0102, 0x0304,
            WireConstants.SIGNALING_QUEUE, 2, 5, 0x8001_0007L, WireConstants.ETHERTYPE_IPV4);

    private static byte[] bytes(int... values) {
        byte[] result = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            result[i] = (byte) values[i];
        }
        return result;
    }

    @Test
    void opticalHeaderMatchesItsLayout() {
        assertArrayEquals(OPTICAL, OPTICAL_HEADER.encode());
        assertEquals(Optional.of(OPTICAL_HEADER), OpticalHeader.decode(OPTICAL, 0));
    }

    @Test
    void decodingStartsAtItsOffset() {
        byte[] shifted = new byte[OPTICAL.length + 5];
        Arrays.fill(shifted, (byte) 0xff);
        System.arraycopy(OPTICAL, 0, shifted, 3, OPTICAL.length);
        assertEquals(Optional.of(OPTICAL_HEADER), OpticalHeader.decode(shifted, 3));
    }

    @Test
    void nineBitPortIsLeftAligned() {
        assertArrayEquals(bytes(0xff, 0x00), new PacketOutHeader(WireConstants.PORT_CPU).encode());
        assertEquals(WireConstants.PORT_CPU, PacketInHeader.decode(bytes(0xff, 0x7f), 0).orElseThrow().ingressPort());
    }

    @Test
    void macAddressKeepsAllItsBits() {
        EthernetHeader header = new EthernetHeader(0xffff_ffff_ffffL, 0x0200_0000_0001L, WireConstants.ETHERTYPE_OPTICAL);
        assertEquals(Optional.of(header), EthernetHeader.decode(header.encode(), 0));
    }

    @Test
    void shortOrMisplacedInputIsRefused() {
        assertTrue(CommitHeader.decode(new byte[CommitHeader.SIZE - 1], 0).isEmpty());
        assertTrue(CommitHeader.decode(new byte[CommitHeader.SIZE], 1).isEmpty());
        assertTrue(CommitHeader.decode(new byte[CommitHeader.SIZE], -1).isEmpty());
        assertTrue(CommitHeader.decode(new byte[CommitHeader.SIZE], Integer.MAX_VALUE).isEmpty());
    }

    @Test
    void valueThatDoesNotFitIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new PacketOutHeader(512));
        assertThrows(IllegalArgumentException.class, () -> new PacketOutHeader(-1));
        assertThrows(IllegalArgumentException.class, () -> new RequestEntryHeader(1L << 32, 0));
    }

    @Test
    void codesAndMembersAreInverse() {
        for (DropReason reason : DropReason.values()) {
            assertEquals(Optional.of(reason), DropReason.fromCode(reason.code()));
            assertTrue(reason.code() < WireConstants.MAX_DROP_REASONS);
        }
        assertTrue(OpticalKind.fromCode(15).isEmpty());
        assertTrue(OpticalKind.fromCode(-1).isEmpty());
    }
}

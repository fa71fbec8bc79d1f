// SPDX-License-Identifier: Apache-2.0
package org.slotwise.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ControlMessageTest {
    private static final int WRONG_BITS = 4;

    private static byte[] message(OpticalKind kind, byte[]... payload) {
        return ControlMessage.encode(kind, 1, 0, 2, 0x02ff00020000L, 77, payload);
    }

    private static Map<OpticalKind, byte[]> oneOfEach() {
        byte[] stamp = new StampHeader(5, 6).encode();
        Map<OpticalKind, byte[]> messages = new LinkedHashMap<>();
        messages.put(OpticalKind.REQUEST, message(OpticalKind.REQUEST, new RequestHeader(9, 4, 5, 0, 1).encode(),
                new byte[WireConstants.REQUEST_ENTRIES * RequestEntryHeader.SIZE]));
        messages.put(OpticalKind.COMMIT, message(OpticalKind.COMMIT, new CommitHeader(9, 4, 5, 10).encode()));
        messages.put(OpticalKind.INVITATION, message(OpticalKind.INVITATION, stamp, new InvitationHeader(9, 4, 1, 0).encode()));
        messages.put(OpticalKind.CONFIGURATION,
                message(OpticalKind.CONFIGURATION, new ConfigurationHeader(9, 250_000, 10_000, 20, 8, -5).encode()));
        messages.put(OpticalKind.SYNC, message(OpticalKind.SYNC, stamp, new SyncHeader(9, 40, 5, -5).encode()));
        messages.put(OpticalKind.FAULT, message(OpticalKind.FAULT, new FaultHeader(9, 40, 4, 0, 0).encode()));
        return messages;
    }

    @Test
    void everyWrongBitFromTheOpticalHeaderOnIsNoticed() {
        oneOfEach().forEach((kind, whole) -> {
            assertFalse(ControlMessage.isCorrupted(whole), kind::name);
            // The kind's own four bits may make it one that is too short for its kind, or unknown: not judged here.
            for (int bit = 8 * (EthernetHeader.SIZE + 1); bit < 8 * whole.length; bit++) {
                byte[] wrong = whole.clone();
                wrong[bit / 8] ^= (byte) (0x80 >> bit % 8);
                assertTrue(ControlMessage.isCorrupted(wrong), kind + " bit " + bit);
            }
        });
    }

    @Test
    void upToFourWrongBitsAreNoticed() {
        Random random = new Random(1);
        oneOfEach().forEach((kind, whole) -> {
            for (int round = 0; round < 20_000; round++) {
                byte[] wrong = whole.clone();
                for (int bits = random.nextInt(WRONG_BITS); bits >= 0; bits--) {
                    int byteAt = EthernetHeader.SIZE + 1 + random.nextInt(whole.length - EthernetHeader.SIZE - 1);
                    wrong[byteAt] ^= (byte) (1 << random.nextInt(8));
                }
                assertEquals(!Arrays.equals(whole, wrong), ControlMessage.isCorrupted(wrong));
            }
        });
    }

    @Test
    void aRequestAloneMayHaveNoCheck() {
        oneOfEach().forEach((kind, whole) -> {
            Arrays.fill(whole, EthernetHeader.SIZE + OpticalHeader.SIZE, ControlMessage.PAYLOAD, (byte) 0);
            assertEquals(kind != OpticalKind.REQUEST, ControlMessage.isCorrupted(whole), kind::name);
        });
    }

    @Test
    void whatIsTooShortOrUnknownIsNotJudged() {
        byte[] whole = oneOfEach().get(OpticalKind.SYNC);
        for (int length = 0; length < whole.length; length++) {
            assertFalse(ControlMessage.isCorrupted(Arrays.copyOf(whole, length)));
        }
        byte[] unknown = whole.clone();
        unknown[EthernetHeader.SIZE] |= 0x0f;
        assertFalse(ControlMessage.isCorrupted(unknown));
    }
}

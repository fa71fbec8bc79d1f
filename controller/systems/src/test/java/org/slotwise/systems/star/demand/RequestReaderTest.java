// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

class RequestReaderTest {
    private static final DeviceId MASTER = DeviceId.of(1);
    private static final int FIBRE = WireConstants.PORT_OPTICAL_BASE;

    private final Network network = Networks.star(4, 20);
    private final RequestReader reader = new RequestReader(network);

    @Test
    void requestOfASlaveIsRead() throws RequestReader.Refused {
        byte[] frame = new RequestMessage(2).frame(77).versions(5, 6).backlog(1, 4000).arrived(1, 9000).encode();
        Request request = reader.read(MASTER, FIBRE, Message.read(frame));
        assertEquals(2, request.edge());
        assertEquals(77, request.frame());
        assertEquals(Version.of(5), request.active());
        assertEquals(Version.of(6), request.next());
        assertEquals(4000, request.backlogBytes(1));
        assertEquals(9000, request.arrivedBytes(1));
        assertEquals(0, request.backlogBytes(15));
    }

    @Test
    void requestOfTheMasterComesFromItsOwnLineCard() throws RequestReader.Refused {
        byte[] frame = new RequestMessage(0).encode();
        assertEquals(0, reader.read(MASTER, WireConstants.PORT_LINECARD, Message.read(frame)).edge());
        assertEquals(RequestRefusal.UNEXPECTED_PORT, refusal(MASTER, FIBRE, frame));
    }

    @Test
    void everyTruncationIsRefused() {
        byte[] frame = new RequestMessage(1).encode();
        for (int length = 0; length < frame.length; length++) {
            assertEquals(RequestRefusal.TRUNCATED, refusal(MASTER, FIBRE, Arrays.copyOf(frame, length)));
        }
    }

    @Test
    void whatIsNoRequestOrNotFromWhereItSaysIsRefused() {
        byte[] frame = new RequestMessage(1).encode();
        assertEquals(RequestRefusal.UNEXPECTED_PORT, refusal(DeviceId.of(2), FIBRE, frame));
        assertEquals(RequestRefusal.UNEXPECTED_PORT, refusal(MASTER, 1, frame));
        assertEquals(RequestRefusal.UNKNOWN_EDGE, refusal(MASTER, FIBRE, new RequestMessage(4).encode()));
        assertEquals(RequestRefusal.UNKNOWN_EDGE, refusal(MASTER, FIBRE, new RequestMessage(65535).encode()));
        assertEquals(RequestRefusal.BAD_BLOCK, refusal(MASTER, FIBRE, new RequestMessage(1).block(1).encode()));
        for (long next : new long[] {3, 6, 0}) {
            assertEquals(RequestRefusal.BAD_FIELD, refusal(MASTER, FIBRE, new RequestMessage(1).versions(4, next).encode()));
        }
        assertEquals(RequestRefusal.NOT_A_REQUEST,
                refusal(MASTER, FIBRE, ControlMessage.encode(OpticalKind.COMMIT, 0, 1, 0, 0, 1, new CommitHeader(0, 1, 2, 3).encode())));
        assertEquals(RequestRefusal.NOT_A_REQUEST,
                refusal(MASTER, FIBRE, new RequestMessage(1).kind(OpticalKind.DATA.code()).encode()));
        byte[] version = frame.clone();
        version[14] ^= 0x20;
        assertEquals(RequestRefusal.BAD_CHECK, refusal(MASTER, FIBRE, version), "the check covers the version");
        byte[] etherType = frame.clone();
        etherType[13] ^= 1;
        assertEquals(RequestRefusal.BAD_VERSION, refusal(MASTER, FIBRE, etherType));
    }

    @Property(seed = "20260401")
    void randomBytesAreReadOrRefused(@ForAll @Size(max = 200) byte[] bytes, @ForAll @IntRange(max = 511) int port) {
        readOrRefuse(bytes, port);
    }

    @Property(seed = "20260402")
    void requestsWithRandomDamageAreReadOrRefused(@ForAll @Size(max = 8) int[] damage) {
        byte[] frame = new RequestMessage(3).encode();
        for (int place : damage) {
            frame[Math.floorMod(place, frame.length)] ^= (byte) (place >>> 16);
        }
        readOrRefuse(frame, FIBRE);
    }

    private void readOrRefuse(byte[] bytes, int port) {
        try {
            Request request = reader.read(MASTER, port, Message.read(bytes));
            assertEquals(0, request.block());
        } catch (RequestReader.Refused refused) {
            assertEquals(refused.reason().name(), refused.getMessage());
        }
    }

    private RequestRefusal refusal(DeviceId device, int port, byte[] frame) {
        return assertThrows(RequestReader.Refused.class, () -> reader.read(device, port, Message.read(frame))).reason();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.message;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.InvitationHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

class MessageTest {
    private static final byte[] STAMP = new StampHeader(1, 2).encode();

    /** Name of the kind, and whether it has all its headers. */
    private static final class Kind implements Message.Visitor<String, RuntimeException> {
        @Override
        public String request(Message.Request message) {
            return "request " + message.header().frame() + " " + message.entry(15).backlogBytes();
        }

        @Override
        public String beacon(Message.Beacon message) {
            return "beacon " + message.header().isPresent();
        }

        @Override
        public String answer(Message.Answer message) {
            return "answer " + message.stamp().isPresent() + " " + message.header().isPresent();
        }

        @Override
        public String sync(Message.Sync message) {
            return "sync " + message.stamp().isPresent() + " " + message.header().isPresent();
        }

        @Override
        public String fault(Message.Fault message) {
            return "fault " + message.header().isPresent();
        }

        @Override
        public String other(Message.Other message) {
            return message.defect().name();
        }
    }

    private static String kind(byte[] frame) {
        return Message.read(frame).accept(new Kind());
    }

    private static byte[] message(OpticalKind kind, byte[]... headers) {
        return ControlMessage.encode(kind, 3, 1, 2, 0, 7, headers);
    }

    private static byte[] request() {
        return new RequestMessage(2).frame(77).backlog(15, 4000).encode();
    }

    @Test
    void eachKindHasItsReader() {
        assertEquals("request 77 4000", kind(request()));
        assertEquals("beacon true", kind(message(OpticalKind.COMMIT, new CommitHeader(0, 1, 2, 3).encode())));
        assertEquals("answer true true", kind(message(OpticalKind.INVITATION, STAMP, new InvitationHeader(1, 2, 3, 0).encode())));
        assertEquals("sync true true", kind(message(OpticalKind.SYNC, STAMP, new SyncHeader(1, 2, 3, 4).encode())));
        assertEquals("fault true", kind(message(OpticalKind.FAULT, new FaultHeader(1, 2, 3, 0, 5).encode())));
        assertEquals("OTHER_KIND", kind(message(OpticalKind.DATA)));
        assertEquals(OptionalInt.of(3), Message.read(message(OpticalKind.DATA)).core());
    }

    @Test
    void truncatedMessagesLackTheirLastHeader() {
        assertEquals("sync true false", kind(message(OpticalKind.SYNC, STAMP)));
        assertEquals("answer false false", kind(message(OpticalKind.INVITATION)));
        assertEquals("beacon false", kind(message(OpticalKind.COMMIT)));
        assertEquals("fault false", kind(message(OpticalKind.FAULT)));
        byte[] request = request();
        for (int length = 0; length < request.length; length++) {
            assertEquals("TRUNCATED", kind(Arrays.copyOf(request, length)), length + " bytes");
        }
        assertEquals(OptionalInt.empty(), Message.read(new byte[20]).core());
    }

    @Test
    void damageIsFoundBeforeAnyField() {
        for (int place : List.of(20, ControlMessage.PAYLOAD)) {
            byte[] frame = request();
            frame[place] ^= 1;
            assertEquals("BAD_CHECK", kind(frame), "at " + place);
        }
        byte[] ethernet = request();
        ethernet[13] ^= 1;
        assertEquals("BAD_VERSION", kind(ethernet));
        assertEquals("BAD_VERSION", kind(ControlMessage.seal(new EthernetHeader(0, 0, WireConstants.ETHERTYPE_OPTICAL),
                new OpticalHeader(WireConstants.OPTICAL_VERSION + 1, OpticalKind.REQUEST.code(), 0, 1, 0, 0, 0, 0, 1, 0), new byte[0])));
    }

    @Property(seed = "20260403")
    void anyBytesAreRead(@ForAll @Size(max = 200) byte[] bytes) {
        assertEquals(kind(bytes), kind(bytes.clone()));
    }
}

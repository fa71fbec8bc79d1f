// SPDX-License-Identifier: Apache-2.0
package org.slotwise.wire;

import java.io.ByteArrayOutputStream;
import java.util.Optional;
import java.util.zip.CRC32;

/** Messages between an edge switch and the controller: Ethernet, optical header, check, and what the kind has. */
public final class ControlMessage {
    /** Where behind the Ethernet header's first byte the kind's own headers begin. */
    public static final int PAYLOAD = EthernetHeader.SIZE + OpticalHeader.SIZE + CheckHeader.SIZE;

    private static final int OPTICAL = EthernetHeader.SIZE;
    private static final int CHECK = OPTICAL + OpticalHeader.SIZE;
    private static final long NO_CHECK = 0;
    private static final int REQUEST_SIZE =
            RequestHeader.SIZE + WireConstants.REQUEST_ENTRIES * RequestEntryHeader.SIZE;

    private ControlMessage() {
    }

    /**
     * A message for an edge switch itself (a packet-out to PORT_SELF).
     *
     * @param kind what the payload is
     * @param core core whose star it is about
     * @param fromEdge number of the edge that says it, a star's master
     * @param toEdge number of the edge that it is for
     * @param toMac that edge's address, 48 bits
     * @param sequence the sender's number of the message
     * @param payload the headers that the kind has
     */
    public static byte[] encode(OpticalKind kind, int core, int fromEdge, int toEdge, long toMac, long sequence,
            byte[]... payload) {
        return seal(new EthernetHeader(toMac, 0, WireConstants.ETHERTYPE_OPTICAL),
                new OpticalHeader(WireConstants.OPTICAL_VERSION, kind.code(), 0, fromEdge, toEdge,
                        WireConstants.SIGNALING_QUEUE, 0, core, sequence, 0), payload);
    }

    /** Any message with its check. */
    public static byte[] seal(EthernetHeader ethernet, OpticalHeader optical, byte[]... payload) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (byte[] header : payload) {
            body.writeBytes(header);
        }
        byte[] opticalBytes = optical.encode();
        CRC32 crc = new CRC32();
        crc.update(opticalBytes);
        crc.update(body.toByteArray());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(ethernet.encode());
        bytes.writeBytes(opticalBytes);
        bytes.writeBytes(new CheckHeader(crc.getValue()).encode());
        bytes.writeBytes(body.toByteArray());
        return bytes.toByteArray();
    }

    /**
     * Whether a packet from a switch is certainly not as the switch made it. One that is too short for its kind, or of a kind
     * that is not known, is not judged; nor is a request whose check is 0, which says that it has none, as UDP's does: a stage
     * of a Tofino2 hashes less than a request.
     */
    public static boolean isCorrupted(byte[] frame) {
        Optional<OpticalKind> kind = OpticalHeader.decode(frame, OPTICAL).flatMap(o -> OpticalKind.fromCode(o.kind()));
        int size = kind.map(ControlMessage::payloadSize).orElse(0);
        if (size == 0 || frame.length < PAYLOAD + size) {
            return false;
        }
        long check = CheckHeader.decode(frame, CHECK).orElseThrow().crc();
        CRC32 crc = new CRC32();
        crc.update(frame, OPTICAL, OpticalHeader.SIZE);
        crc.update(frame, PAYLOAD, size);
        return check != crc.getValue() && !(check == NO_CHECK && kind.get() == OpticalKind.REQUEST);
    }

    private static int payloadSize(OpticalKind kind) {
        switch (kind) {
            case REQUEST:
                return REQUEST_SIZE;
            case COMMIT:
                return CommitHeader.SIZE;
            case INVITATION:
                return StampHeader.SIZE + InvitationHeader.SIZE;
            case CONFIGURATION:
                return ConfigurationHeader.SIZE;
            case SYNC:
                return StampHeader.SIZE + SyncHeader.SIZE;
            case FAULT:
                return FaultHeader.SIZE;
            default:
                return 0;
        }
    }
}

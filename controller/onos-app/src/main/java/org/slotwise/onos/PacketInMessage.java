// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.onosproject.net.packet.InboundPacket;
import org.slotwise.control.topology.DeviceId;

/** A packet-in on its way from the node that is a switch's master to the node that runs the controller. */
final class PacketInMessage {
    private static final int HEADER_BYTES = Long.BYTES + Integer.BYTES;

    private final DeviceId device;
    private final int port;
    private final byte[] frame;

    PacketInMessage(DeviceId device, int port, byte[] frame) {
        this.device = device;
        this.port = port;
        this.frame = frame;
    }

    /** A packet that ONOS got; empty if it is from none of our switches. */
    static Optional<PacketInMessage> of(InboundPacket packet) {
        return SlotwiseDevices.p4runtime(packet.receivedFrom().deviceId()).map(device -> {
            ByteBuffer bytes = packet.unparsed().duplicate();
            byte[] frame = new byte[bytes.remaining()];
            bytes.get(frame);
            return new PacketInMessage(device, (int) packet.receivedFrom().port().toLong(), frame);
        });
    }

    /** Throws IllegalArgumentException if the bytes are none. */
    static PacketInMessage decode(byte[] bytes) {
        if (bytes.length < HEADER_BYTES) {
            throw new IllegalArgumentException(
                    "expected a packet-in of at least " + HEADER_BYTES + " bytes, got " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        DeviceId device = DeviceId.of(buffer.getLong());
        int port = buffer.getInt();
        byte[] frame = new byte[buffer.remaining()];
        buffer.get(frame);
        return new PacketInMessage(device, port, frame);
    }

    byte[] encode() {
        return ByteBuffer.allocate(HEADER_BYTES + frame.length)
                .putLong(device.value()).putInt(port).put(frame).array();
    }

    DeviceId device() {
        return device;
    }

    int port() {
        return port;
    }

    byte[] frame() {
        return frame;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.Collection;
import org.junit.jupiter.api.Test;
import org.onlab.util.ImmutableByteSequence;
import org.onosproject.net.DeviceId;
import org.onosproject.net.PortNumber;
import org.onosproject.net.flow.DefaultTrafficTreatment;
import org.onosproject.net.flow.TrafficTreatment;
import org.onosproject.net.packet.DefaultOutboundPacket;
import org.onosproject.net.packet.InboundPacket;
import org.onosproject.net.pi.model.PiPacketMetadataId;
import org.onosproject.net.pi.model.PiPacketOperationType;
import org.onosproject.net.pi.model.PiPipelineInterpreter.PiInterpreterException;
import org.onosproject.net.pi.runtime.PiPacketMetadata;
import org.onosproject.net.pi.runtime.PiPacketOperation;

class SlotwiseInterpreterTest {
    private static final DeviceId DEVICE = DeviceId.deviceId("device:slotwise:1");
    private static final byte[] FRAME = new byte[60];

    private final SlotwiseInterpreter interpreter = new SlotwiseInterpreter();

    private Collection<PiPacketOperation> send(TrafficTreatment treatment) throws PiInterpreterException {
        return interpreter.mapOutboundPacket(new DefaultOutboundPacket(DEVICE, treatment, ByteBuffer.wrap(FRAME)));
    }

    private static TrafficTreatment output(long port) {
        return DefaultTrafficTreatment.builder().setOutput(PortNumber.portNumber(port)).build();
    }

    @Test
    void aPacketOutSaysItsPortInNineBits() throws Exception {
        PiPacketOperation packet = send(output(510)).iterator().next();
        assertEquals(PiPacketOperationType.PACKET_OUT, packet.type());
        assertArrayEquals(FRAME, packet.data().asArray());
        PiPacketMetadata metadata = packet.metadatas().iterator().next();
        assertEquals(PiPacketMetadataId.of("egress_port"), metadata.id());
        assertArrayEquals(new byte[] {1, (byte) 0xfe}, metadata.value().asArray());
    }

    @Test
    void aPacketOutWithoutOnePhysicalPortIsRefused() {
        assertThrows(PiInterpreterException.class, () -> send(output(512)));
        assertThrows(PiInterpreterException.class, () -> send(DefaultTrafficTreatment.builder().build()));
        assertThrows(PiInterpreterException.class,
                () -> send(DefaultTrafficTreatment.builder().setOutput(PortNumber.FLOOD).build()));
    }

    private InboundPacket receive(byte[] port, byte[] frame) throws PiInterpreterException {
        PiPacketOperation.Builder packet = PiPacketOperation.builder().withType(PiPacketOperationType.PACKET_IN)
                .withData(ImmutableByteSequence.copyFrom(frame));
        if (port.length > 0) {
            packet.withMetadata(PiPacketMetadata.builder().withId(PiPacketMetadataId.of("ingress_port"))
                    .withValue(ImmutableByteSequence.copyFrom(port)).build());
        }
        return interpreter.mapInboundPacket(packet.build(), DEVICE);
    }

    /** P4Runtime's canonical form has no leading zero bytes, so a port has one byte or two. */
    @Test
    void aPacketInHasItsPortWhateverItsBytes() throws Exception {
        assertEquals(256, receive(new byte[] {1, 0}, FRAME).receivedFrom().port().toLong());
        assertEquals(500, receive(new byte[] {1, (byte) 0xf4}, FRAME).receivedFrom().port().toLong());
        InboundPacket packet = receive(new byte[] {(byte) 0xff}, FRAME);
        assertEquals(255, packet.receivedFrom().port().toLong());
        assertEquals(DEVICE, packet.receivedFrom().deviceId());
        assertEquals(FRAME.length, packet.unparsed().remaining());
    }

    @Test
    void aPacketInThatMakesNoSenseIsRefused() {
        assertThrows(PiInterpreterException.class, () -> receive(new byte[0], FRAME));
        assertThrows(PiInterpreterException.class, () -> receive(new byte[] {1, 2, 3}, FRAME));
        assertThrows(PiInterpreterException.class, () -> receive(new byte[] {1}, new byte[5]));
    }
}

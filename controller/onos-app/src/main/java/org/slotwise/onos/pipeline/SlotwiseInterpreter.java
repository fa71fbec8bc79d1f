// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.onlab.packet.DeserializationException;
import org.onlab.packet.Ethernet;
import org.onlab.util.ImmutableByteSequence;
import org.onosproject.net.ConnectPoint;
import org.onosproject.net.DeviceId;
import org.onosproject.net.PortNumber;
import org.onosproject.net.driver.AbstractHandlerBehaviour;
import org.onosproject.net.flow.TrafficTreatment;
import org.onosproject.net.flow.criteria.Criterion;
import org.onosproject.net.flow.instructions.Instruction;
import org.onosproject.net.flow.instructions.Instructions.OutputInstruction;
import org.onosproject.net.packet.DefaultInboundPacket;
import org.onosproject.net.packet.InboundPacket;
import org.onosproject.net.packet.OutboundPacket;
import org.onosproject.net.pi.model.PiMatchFieldId;
import org.onosproject.net.pi.model.PiPacketMetadataId;
import org.onosproject.net.pi.model.PiPacketOperationType;
import org.onosproject.net.pi.model.PiPipelineInterpreter;
import org.onosproject.net.pi.model.PiTableId;
import org.onosproject.net.pi.runtime.PiAction;
import org.onosproject.net.pi.runtime.PiPacketMetadata;
import org.onosproject.net.pi.runtime.PiPacketOperation;

/**
 * Packets of our programs, all of which have the same packet-in and packet-out headers. Rules need no interpreter:
 * the app writes them in the programs' own terms.
 */
public final class SlotwiseInterpreter extends AbstractHandlerBehaviour implements PiPipelineInterpreter {
    static final String INGRESS_PORT = "ingress_port";
    static final String EGRESS_PORT = "egress_port";
    private static final int PORT_BITS = 9;
    private static final int PORT_BYTES = 2;

    @Override
    public Optional<PiMatchFieldId> mapCriterionType(Criterion.Type type) {
        return Optional.empty();
    }

    @Override
    public Optional<PiTableId> mapFlowRuleTableId(int flowRuleTableId) {
        return Optional.empty();
    }

    @Override
    public PiAction mapTreatment(TrafficTreatment treatment, PiTableId table) throws PiInterpreterException {
        throw new PiInterpreterException("expected a protocol-independent action, got " + treatment);
    }

    @Override
    public Collection<PiPacketOperation> mapOutboundPacket(OutboundPacket packet) throws PiInterpreterException {
        List<Instruction> instructions = packet.treatment().allInstructions();
        if (instructions.size() != 1 || instructions.get(0).type() != Instruction.Type.OUTPUT) {
            throw new PiInterpreterException("packet-out: expected one output port, got " + packet.treatment());
        }
        PortNumber port = ((OutputInstruction) instructions.get(0)).port();
        if (port.isLogical()) {
            throw new PiInterpreterException("packet-out: expected a physical port, got " + port);
        }
        try {
            PiPacketMetadata metadata = PiPacketMetadata.builder().withId(PiPacketMetadataId.of(EGRESS_PORT))
                    .withValue(ImmutableByteSequence.copyFrom(port.toLong()).fit(PORT_BITS)).build();
            return List.of(PiPacketOperation.builder().withType(PiPacketOperationType.PACKET_OUT)
                    .withData(ImmutableByteSequence.copyFrom(packet.data())).withMetadata(metadata).build());
        } catch (ImmutableByteSequence.ByteSequenceTrimException e) {
            throw new PiInterpreterException("expected a port of " + PORT_BITS + " bits, got " + port);
        }
    }

    @Override
    public InboundPacket mapInboundPacket(PiPacketOperation packetIn, DeviceId device) throws PiInterpreterException {
        ImmutableByteSequence port = packetIn.metadatas().stream()
                .filter(metadata -> metadata.id().id().equals(INGRESS_PORT)).map(PiPacketMetadata::value).findFirst()
                .orElseThrow(() -> new PiInterpreterException("packet-in of " + device + " without " + INGRESS_PORT));
        if (port.size() > PORT_BYTES) {
            throw new PiInterpreterException("packet-in of " + device + ": " + INGRESS_PORT + " of " + port.size() + " bytes");
        }
        int number = 0;
        for (byte part : port.asArray()) {
            number = number << Byte.SIZE | part & 0xff;
        }
        byte[] frame = packetIn.data().asArray();
        try {
            return new DefaultInboundPacket(new ConnectPoint(device, PortNumber.portNumber(number)),
                    Ethernet.deserializer().deserialize(frame, 0, frame.length),
                    packetIn.data().asReadOnlyBuffer());
        } catch (DeserializationException e) {
            throw new PiInterpreterException("packet-in of " + device + " is not an Ethernet frame: " + e.getMessage());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.onosproject.net.pi.model.PiPipeconf.ExtensionType.BMV2_JSON;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.onosproject.drivers.p4runtime.AbstractP4RuntimePipelineProgrammable;
import org.onosproject.net.pi.model.PiPipeconf;

/**
 * Gives a switch p4c's BMv2 JSON. ONOS's own driver {@code bmv2} does so, too, but its loader tries once, and when ONOS starts again it
 * may do that before the driver is there that {@code bmv2} extends.
 */
public final class JsonProgrammable extends AbstractP4RuntimePipelineProgrammable {
    @Override
    public ByteBuffer createDeviceDataBuffer(PiPipeconf pipeconf) {
        Optional<InputStream> program = pipeconf.extension(BMV2_JSON);
        if (program.isEmpty()) {
            log.warn("pipeconf {}: no BMv2 JSON", pipeconf.id());
            return null;
        }
        try (InputStream json = program.get()) {
            return ByteBuffer.wrap(json.readAllBytes());
        } catch (IOException e) {
            log.warn("pipeconf {}: unreadable BMv2 JSON: {}", pipeconf.id(), e.toString());
            return null;
        }
    }

    /** A switch has the pipeconf that the network configuration gives it, or none. */
    @Override
    public Optional<PiPipeconf> getDefaultPipeconf() {
        return Optional.empty();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.slotwise.core.Event;
import org.slotwise.core.network.Network;
import org.slotwise.core.schedule.InvalidSettingsException;
import org.slotwise.p4runtime.Pipeline;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.NetworkCodec;
import org.slotwise.rest.json.SchedulerCodec;

/**
 * The configuration file, checked.
 *
 * @param p4runtimeAddress {@code host:port} of the P4Runtime server
 * @param restHost address that the REST server listens on
 * @param restPort its port; 0 for any free one
 * @param store directory of what must survive a restart
 * @param clock where time comes from
 * @param edgePipeline program of every edge
 * @param corePipeline program of the core
 * @param network the network
 * @param scheduler the scheduler to begin with
 */
record Configuration(String p4runtimeAddress, String restHost, int restPort, Path store, Clock clock,
        Pipeline edgePipeline, Pipeline corePipeline, Network network, Event.SchedulerChosen scheduler) {
    private static final int MAX_PORT = 65_535;
    private static final long MAX_FILE_BYTES = 16 << 20;

    /** Where time comes from. */
    enum Clock {
        /** The machine. */
        WALL,
        /** The fabric, see {@code schema/lockstep.proto}. */
        LOCKSTEP
    }

    /** Reads the file; throws {@link InvalidJsonException} or IOException with the file or place and the reason. */
    static Configuration read(Path file) throws IOException, InvalidJsonException {
        if (Files.size(file) > MAX_FILE_BYTES) {
            throw new IOException(file + " has more than " + MAX_FILE_BYTES + " bytes");
        }
        JsonFields fields = JsonFields.of("", JsonFields.parse(Files.readAllBytes(file)),
                "p4runtime", "rest", "store", "clock", "pipelines", "network");
        JsonFields rest = JsonFields.of("rest", fields.required("rest"), "host", "port");
        JsonFields pipelines = JsonFields.of("pipelines", fields.required("pipelines"), "edge", "core");
        JsonNode network = fields.required("network");
        return new Configuration(
                JsonFields.of("p4runtime", fields.required("p4runtime"), "address").text("address"),
                rest.text("host"), (int) rest.integer("port", 0, MAX_PORT),
                path(fields, "store"), clock(fields.text("clock")),
                pipeline("pipelines.edge", pipelines.required("edge")),
                pipeline("pipelines.core", pipelines.required("core")),
                NetworkCodec.decode("network", network), scheduler(JsonFields.open("network", network)));
    }

    private static Clock clock(String text) throws InvalidJsonException {
        return switch (text) {
            case "wall" -> Clock.WALL;
            case "lockstep" -> Clock.LOCKSTEP;
            default -> throw new InvalidJsonException("clock", "must be wall or lockstep, got '" + text + "'");
        };
    }

    private static Event.SchedulerChosen scheduler(JsonFields network) throws InvalidJsonException {
        try {
            return SchedulerCodec.decode("network.scheduler", network.required("scheduler"));
        } catch (InvalidSettingsException e) {
            throw new InvalidJsonException("network.scheduler", e.getMessage());
        }
    }

    private static Pipeline pipeline(String where, JsonNode value) throws IOException, InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "json", "p4info");
        return Pipeline.read(path(fields, "json"), path(fields, "p4info"));
    }

    private static Path path(JsonFields fields, String name) throws InvalidJsonException {
        String text = fields.text(name);
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new InvalidJsonException(fields.place(name), e.getMessage());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.rest.system.Extensions;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemKinds;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.p4runtime.ChannelSecurity;
import org.slotwise.p4runtime.Pipeline;
import org.slotwise.p4runtime.ServerAddresses;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.Systems;

/**
 * The configuration file, checked.
 *
 * @param p4runtime the P4Runtime servers
 * @param p4runtimeSecurity plain text or TLS
 * @param rest the REST server
 * @param store directory of what must survive a restart
 * @param clock where time comes from
 * @param jsonLog whether the log is one JSON object a line
 * @param programs P4 programs by name
 * @param extensions what sections of applications add, which must be closed
 * @param network what each application runs
 */
record Configuration(ServerAddresses p4runtime, ChannelSecurity p4runtimeSecurity, RestSettings rest, Path store,
        Clock clock, boolean jsonLog, Map<String, Pipeline> programs, Extensions extensions, NetworkDocument network) {
    private static final int MAX_FILE_BYTES = 16 << 20;

    /** Where time comes from. */
    enum Clock {
        /** The machine. */
        WALL,
        /** The fabric, see {@code schema/lockstep.proto}. */
        LOCKSTEP
    }

    /** Reads the file; throws {@link InvalidJsonException} or IOException with the file or place and the reason. */
    static Configuration read(Path file) throws IOException, InvalidJsonException {
        return read(file, Systems.all());
    }

    /** Reads the file; {@code known} are the applications that there may be. */
    static Configuration read(Path file, SystemKinds known) throws IOException, InvalidJsonException {
        List<String> keys = new ArrayList<>(List.of("p4runtime", "rest", "store", "clock", "log", "pipelines"));
        keys.addAll(Extensions.sections(known));
        keys.add("network");
        JsonFields fields = JsonFields.of("", JsonFields.parse(BoundedFiles.read(file, MAX_FILE_BYTES)), keys.toArray(new String[0]));
        JsonFields p4runtime = JsonFields.of("p4runtime", fields.required("p4runtime"), "address", "devices", "tls",
                "token_file");
        Clock clock = clock(fields.text("clock"));
        Extensions extensions = Extensions.read(fields, known, clock == Clock.LOCKSTEP);
        try {
            SystemKinds applications = extensions.kinds();
            NetworkDocument network = NetworkDocument.decode("network", fields.required("network"), applications);
            List<Node> nodes = network.nodes();
            return new Configuration(
                    servers(p4runtime, nodes), p4runtimeSecurity(p4runtime),
                    RestSettings.decode("rest", fields.required("rest")),
                    path(fields, "store"), clock, jsonLog(fields), programs(fields.required("pipelines"), applications, nodes),
                    extensions, network);
        } catch (IOException | InvalidJsonException | RuntimeException e) {
            extensions.close();
            throw e;
        }
    }

    /** Of each kind of switch that there is. */
    private static Map<String, Pipeline> programs(JsonNode value, SystemKinds applications, List<Node> nodes)
            throws IOException, InvalidJsonException {
        JsonFields pipelines = JsonFields.of("pipelines", value, applications.programs().toArray(new String[0]));
        Map<String, Pipeline> programs = new TreeMap<>();
        for (Node node : nodes) {
            if (!programs.containsKey(node.program())) {
                programs.put(node.program(),
                        pipeline(pipelines.place(node.program()), pipelines.required(node.program())));
            }
        }
        return programs;
    }

    private static ServerAddresses servers(JsonFields p4runtime, List<Node> nodes) throws InvalidJsonException {
        Map<DeviceId, String> own = new TreeMap<>();
        Optional<JsonNode> devices = p4runtime.optional("devices");
        if (devices.isPresent()) {
            List<DeviceId> known = nodes.stream().map(Node::device).toList();
            String[] names = known.stream().map(DeviceId::toString).toArray(String[]::new);
            JsonFields fields = JsonFields.of(p4runtime.place("devices"), devices.get(), names);
            for (DeviceId device : known) {
                if (fields.optional(device.toString()).isPresent()) {
                    own.put(device, fields.text(device.toString()));
                }
            }
        }
        return new ServerAddresses(p4runtime.text("address"), own);
    }

    private static ChannelSecurity p4runtimeSecurity(JsonFields p4runtime) throws IOException, InvalidJsonException {
        ChannelSecurity security = encryption(p4runtime);
        Optional<Path> token = optionalPath(p4runtime, "token_file");
        return token.isPresent() ? security.withToken(AccessToken.text(token.get())) : security;
    }

    private static ChannelSecurity encryption(JsonFields p4runtime) throws IOException, InvalidJsonException {
        Optional<JsonNode> value = p4runtime.optional("tls");
        if (value.isEmpty()) {
            return ChannelSecurity.plainText();
        }
        JsonFields tls = JsonFields.of("p4runtime.tls", value.get(), "ca", "certificate", "key", "server_name");
        if (tls.optional("certificate").isPresent() != tls.optional("key").isPresent()) {
            throw new InvalidJsonException("p4runtime.tls", "expected both 'certificate' and 'key', or neither");
        }
        if (tls.optional("key").isPresent()) {
            SecretFiles.check(path(tls, "key"));
        }
        return ChannelSecurity.tls(path(tls, "ca"), optionalPath(tls, "certificate"), optionalPath(tls, "key"),
                tls.optional("server_name").isPresent() ? Optional.of(tls.text("server_name")) : Optional.empty());
    }

    private static boolean jsonLog(JsonFields fields) throws InvalidJsonException {
        Optional<JsonNode> log = fields.optional("log");
        String format = log.isEmpty() ? "text" : JsonFields.of("log", log.get(), "format").text("format");
        if (!format.equals("text") && !format.equals("json")) {
            throw new InvalidJsonException("log.format", "expected text or json, got '" + format + "'");
        }
        return format.equals("json");
    }

    private static Clock clock(String text) throws InvalidJsonException {
        return switch (text) {
            case "wall" -> Clock.WALL;
            case "lockstep" -> Clock.LOCKSTEP;
            default -> throw new InvalidJsonException("clock", "expected wall or lockstep, got '" + text + "'");
        };
    }

    private static Pipeline pipeline(String where, JsonNode value) throws IOException, InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "json", "p4info");
        return Pipeline.read(path(fields, "json"), path(fields, "p4info"));
    }

    /** A path that may be missing. */
    static Optional<Path> optionalPath(JsonFields fields, String name) throws InvalidJsonException {
        return fields.optional(name).isPresent() ? Optional.of(path(fields, name)) : Optional.empty();
    }

    /** A path that must be there. */
    static Path path(JsonFields fields, String name) throws InvalidJsonException {
        String text = fields.text(name);
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new InvalidJsonException(fields.place(name), e.getMessage());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.onosproject.net.pi.model.PiPipeconf.ExtensionType;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiPacketOperationType;
import org.onosproject.net.pi.model.PiPipelineInterpreter;
import org.onosproject.net.pi.model.PiTableModel;

class ProgramsTest {
    private static final Path COMPILED = Path.of("../../p4src/p4c-out");
    private static final Path TOFINO_COMPILED = Path.of("../../p4src/tna-out");
    /** The router with another arithmetic, to compare with; no switch of a network runs it. */
    private static final String COMPARED = "router_scaled";
    /** How names of what is made for Tofino1 end, which has no pipeconf. */
    private static final String TOFINO1 = "_tofino1";
    /** Programs of which one for Tofino2 is a part, where it has another name. */
    private static final Map<String, String> WHOLE = Map.of("edge_ops", "edge");

    static List<String> names() {
        return Programs.NAMES;
    }

    /** Reading the P4Info is what ONOS does when it connects to a switch. */
    @ParameterizedTest
    @MethodSource("names")
    void onosReadsTheProgramAndHasItAsItWasCompiled(String name) throws Exception {
        PiPipeconf program = Programs.load(name);
        assertReadAs("org.slotwise." + name, COMPILED.resolve(name + ".p4info.txtpb"), program);
        assertArrayEquals(Files.readAllBytes(COMPILED.resolve(name + ".json")), extension(program, ExtensionType.BMV2_JSON));
    }

    private static void assertReadAs(String id, Path p4Info, PiPipeconf program) throws IOException {
        assertEquals(id, program.id().id());
        assertTrue(program.hasBehaviour(PiPipelineInterpreter.class));
        String carried = new String(extension(program, ExtensionType.P4_INFO_TEXT), StandardCharsets.UTF_8);
        assertEquals(withoutYoungerFields(p4Info), carried.lines().collect(Collectors.toList()));
    }

    static List<String> tofino2Names() {
        return Programs.TOFINO2_NAMES;
    }

    @ParameterizedTest
    @MethodSource("tofino2Names")
    void onosReadsTheProgramForTofino2AndHasWhatStratumLoads(String name) throws Exception {
        PiPipeconf program = Programs.loadTofino2(name);
        assertReadAs("org.slotwise." + name + ".tofino2", TOFINO_COMPILED.resolve(name + ".p4info.txtpb"), program);
        byte[] carried = extension(program, ExtensionType.RAW_DEVICE_CONFIG);
        try (InputStream compiled = new GZIPInputStream(Files.newInputStream(TOFINO_COMPILED.resolve(name + ".stratum.gz")))) {
            assertArrayEquals(compiled.readAllBytes(), carried);
        }
        Map<Integer, List<byte[]>> config = fields(CodedInputStream.newInstance(carried));
        assertEquals(name, new String(config.get(1).get(0), StandardCharsets.UTF_8));
        ObjectMapper json = new ObjectMapper();
        Set<String> known = new HashSet<>();
        json.readTree(config.get(2).get(0)).get("tables").forEach(table -> known.add(table.get("name").asText()));
        Set<String> pipes = new HashSet<>();
        List<Byte> scope = new ArrayList<>();
        for (byte[] of : config.get(3)) {
            Map<Integer, List<byte[]>> profile = fields(CodedInputStream.newInstance(of));
            pipes.add(new String(profile.get(1).get(0), StandardCharsets.UTF_8));
            assertEquals(name, json.readTree(profile.get(2).get(0)).get("program_name").asText());
            assertTrue(profile.get(3).get(0).length > 0);
            for (byte pipe : profile.get(4).get(0)) {
                scope.add(pipe);
            }
        }
        assertEquals(config.get(3).size(), pipes.size());
        assertEquals(List.of((byte) 0, (byte) 1, (byte) 2, (byte) 3), scope.stream().sorted().collect(Collectors.toList()));
        // Stratum looks for a table by its number, and, as that is another one there, by its name behind that of the pipe.
        for (PiTableModel table : program.pipelineModel().tables()) {
            assertTrue(pipes.stream().anyMatch(pipe -> known.contains(pipe + "." + table.id().id())), table.id().id());
        }
    }

    /** Packet-ins of both targets have the same header, so one interpreter reads them. */
    @ParameterizedTest
    @MethodSource("tofino2Names")
    void packetsOfControllersAreTheSame(String name) throws Exception {
        String whole = WHOLE.getOrDefault(name, name);
        assertEquals(Set.copyOf(Programs.load(whole).pipelineModel().packetOperationModel(PiPacketOperationType.PACKET_IN).orElseThrow().metadatas()),
                Set.copyOf(Programs.loadTofino2(name).pipelineModel().packetOperationModel(PiPacketOperationType.PACKET_IN).orElseThrow().metadatas()));
    }

    private static Map<Integer, List<byte[]>> fields(CodedInputStream message) throws IOException {
        Map<Integer, List<byte[]>> found = new HashMap<>();
        for (int tag = message.readTag(); tag != 0; tag = message.readTag()) {
            found.computeIfAbsent(WireFormat.getTagFieldNumber(tag), each -> new ArrayList<>()).add(message.readByteArray());
        }
        return found;
    }

    private static byte[] extension(PiPipeconf program, ExtensionType type) throws IOException {
        try (InputStream stream = program.extension(type).orElseThrow()) {
            return stream.readAllBytes();
        }
    }

    /** The fields of P4Info that p4c writes and ONOS 2.7 does not know, cut out line by line. */
    private static List<String> withoutYoungerFields(Path file) throws IOException {
        List<String> kept = new ArrayList<>();
        boolean inside = false;
        for (String line : Files.readAllLines(file)) {
            inside |= line.equals("  initial_default_action {");
            if (!inside && !line.equals("  has_initial_entries: true")) {
                kept.add(line);
            }
            inside &= !line.equals("  }");
        }
        return kept;
    }

    @Test
    void allProgramsThatAreCompiledAreCarried() throws IOException {
        Set<String> compiled = compiled(COMPILED);
        compiled.remove(COMPARED);
        assertEquals(compiled, Set.copyOf(Programs.NAMES));
        Set<String> assembled = compiled(TOFINO_COMPILED);
        assembled.removeIf(name -> name.endsWith(TOFINO1));
        assertEquals(assembled, Set.copyOf(Programs.TOFINO2_NAMES));
    }

    private static Set<String> compiled(Path directory) throws IOException {
        try (var files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).filter(file -> file.endsWith(".p4info.txtpb"))
                    .map(file -> file.substring(0, file.indexOf('.'))).collect(Collectors.toCollection(HashSet::new));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.onosproject.net.pi.model.PiPipeconf.ExtensionType;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiPipelineInterpreter;

class ProgramsTest {
    private static final Path COMPILED = Path.of("../../p4src/p4c-out");
    /** The router with another arithmetic, to compare with; no switch of a network runs it. */
    private static final String COMPARED = "router_scaled";

    static List<String> names() {
        return Programs.NAMES;
    }

    /** Reading the P4Info is what ONOS does when it connects to a switch. */
    @ParameterizedTest
    @MethodSource("names")
    void onosReadsTheProgramAndHasItAsItWasCompiled(String name) throws Exception {
        PiPipeconf program = Programs.load(name);
        assertEquals("org.slotwise." + name, program.id().id());
        assertTrue(program.hasBehaviour(PiPipelineInterpreter.class));
        assertArrayEquals(Files.readAllBytes(COMPILED.resolve(name + ".json")), extension(program, ExtensionType.BMV2_JSON));
        String carried = new String(extension(program, ExtensionType.P4_INFO_TEXT), StandardCharsets.UTF_8);
        assertEquals(withoutInitialDefaults(COMPILED.resolve(name + ".p4info.txtpb")),
                carried.lines().collect(Collectors.toList()));
    }

    private static byte[] extension(PiPipeconf program, ExtensionType type) throws IOException {
        try (InputStream stream = program.extension(type).orElseThrow()) {
            return stream.readAllBytes();
        }
    }

    /** The one field of P4Info that p4c writes and ONOS 2.7 does not know, cut out line by line. */
    private static List<String> withoutInitialDefaults(Path file) throws IOException {
        List<String> kept = new ArrayList<>();
        boolean inside = false;
        for (String line : Files.readAllLines(file)) {
            inside |= line.equals("  initial_default_action {");
            if (!inside) {
                kept.add(line);
            }
            inside &= !line.equals("  }");
        }
        return kept;
    }

    @Test
    void allProgramsThatAreCompiledAreCarried() throws IOException {
        try (var files = Files.list(COMPILED)) {
            Set<String> compiled = files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(".p4info.txtpb"))
                    .map(file -> file.substring(0, file.indexOf('.'))).filter(name -> !name.equals(COMPARED)).collect(Collectors.toSet());
            assertEquals(compiled, Set.copyOf(Programs.NAMES));
        }
    }
}

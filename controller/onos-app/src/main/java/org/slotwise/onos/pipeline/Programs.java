// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.net.URL;
import java.util.List;
import org.onosproject.net.pi.model.DefaultPiPipeconf;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.model.PiPipeconf.ExtensionType;
import org.onosproject.net.pi.model.PiPipeconfId;
import org.onosproject.net.pi.model.PiPipelineInterpreter;
import org.onosproject.p4runtime.model.P4InfoParser;
import org.onosproject.p4runtime.model.P4InfoParserException;
import org.slotwise.systems.Systems;

/**
 * The P4 programs that the app carries, as pipeconfs {@code org.slotwise.<program>} of switches that take p4c's BMv2 JSON, and
 * {@code org.slotwise.<program>.tofino2} of switches on which Stratum runs a Tofino2.
 */
public final class Programs {
    /** Names of the programs: those of all applications. */
    public static final List<String> NAMES = Systems.all().programs();
    /**
     * Names of those that are there for Tofino2, too; controllers see the same tables. {@code edge_ops} is the part of {@code edge} for
     * optical packet switches.
     */
    public static final List<String> TOFINO2_NAMES = List.of("core", "edge", "edge_ops", "router", "ring", "ops");
    private static final String PREFIX = "org.slotwise.";
    private static final String TOFINO2 = ".tofino2";

    private Programs() {
    }

    /** Identifier of a program. */
    public static PiPipeconfId id(String name) {
        return new PiPipeconfId(PREFIX + name);
    }

    /** Identifier of a program for Tofino2. */
    public static PiPipeconfId tofino2Id(String name) {
        return id(name + TOFINO2);
    }

    /** A program; throws P4InfoParserException if ONOS cannot read its P4Info. */
    public static PiPipeconf load(String name) throws P4InfoParserException {
        return load(id(name), name, ExtensionType.BMV2_JSON, name + ".json");
    }

    /**
     * A program for Tofino2, with what Stratum loads into the device; throws P4InfoParserException if ONOS cannot read its P4Info.
     * ONOS's driver {@code stratum-tofino} hands on a raw configuration as it is.
     */
    public static PiPipeconf loadTofino2(String name) throws P4InfoParserException {
        return load(tofino2Id(name), "tofino2/" + name, ExtensionType.RAW_DEVICE_CONFIG, "tofino2/" + name + ".stratum");
    }

    private static PiPipeconf load(PiPipeconfId id, String program, ExtensionType kind, String compiled) throws P4InfoParserException {
        URL p4Info = resource(program + ".p4info.txtpb");
        return DefaultPiPipeconf.builder().withId(id)
                .withPipelineModel(P4InfoParser.parse(p4Info))
                .addBehaviour(PiPipelineInterpreter.class, SlotwiseInterpreter.class)
                .addExtension(ExtensionType.P4_INFO_TEXT, p4Info)
                .addExtension(kind, resource(compiled)).build();
    }

    private static URL resource(String file) {
        URL url = Programs.class.getResource("/p4/" + file);
        if (url == null) {
            throw new IllegalStateException("missing file of the app: " + file);
        }
        return url;
    }
}

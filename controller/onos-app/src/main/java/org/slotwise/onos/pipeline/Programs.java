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
import org.slotwise.apps.Applications;
import org.slotwise.star.schedule.Schedulers;

/** The P4 programs that the app carries, as pipeconfs {@code org.slotwise.<program>}. */
public final class Programs {
    /** Names of the programs: those of all applications. */
    public static final List<String> NAMES = Applications.ours(Schedulers.ours()).programs();
    private static final String PREFIX = "org.slotwise.";

    private Programs() {
    }

    /** Identifier of a program. */
    public static PiPipeconfId id(String name) {
        return new PiPipeconfId(PREFIX + name);
    }

    /** A program; throws P4InfoParserException if ONOS cannot read its P4Info. */
    public static PiPipeconf load(String name) throws P4InfoParserException {
        URL p4Info = resource(name + ".p4info.txtpb");
        return DefaultPiPipeconf.builder().withId(id(name))
                .withPipelineModel(P4InfoParser.parse(p4Info))
                .addBehaviour(PiPipelineInterpreter.class, SlotwiseInterpreter.class)
                .addExtension(ExtensionType.P4_INFO_TEXT, p4Info)
                .addExtension(ExtensionType.BMV2_JSON, resource(name + ".json")).build();
    }

    private static URL resource(String file) {
        URL url = Programs.class.getResource("/p4/" + file);
        if (url == null) {
            throw new IllegalStateException("the app was built without " + file);
        }
        return url;
    }
}

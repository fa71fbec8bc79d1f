// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.io.IOException;
import java.nio.file.Path;

/** The compiled programs of this repository. */
final class Programs {
    private static final Path COMPILED = Path.of("../../p4src/p4c-out");

    private Programs() {
    }

    static Pipeline edge() throws IOException {
        return Pipeline.read(COMPILED.resolve("edge.json"), COMPILED.resolve("edge.p4info.txtpb"));
    }

    static Pipeline core() throws IOException {
        return Pipeline.read(COMPILED.resolve("core.json"), COMPILED.resolve("core.p4info.txtpb"));
    }

    static Pipeline ops() throws IOException {
        return Pipeline.read(COMPILED.resolve("ops.json"), COMPILED.resolve("ops.p4info.txtpb"));
    }

    static Pipeline ring() throws IOException {
        return Pipeline.read(COMPILED.resolve("ring.json"), COMPILED.resolve("ring.p4info.txtpb"));
    }
}

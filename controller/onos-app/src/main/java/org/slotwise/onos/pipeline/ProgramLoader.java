// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.util.ArrayList;
import java.util.List;
import org.onosproject.net.pi.model.PiPipeconf;
import org.onosproject.net.pi.service.PiPipeconfService;
import org.onosproject.p4runtime.model.P4InfoParserException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Registers the programs while the app is active. */
@Component(immediate = true)
public final class ProgramLoader {
    @Reference
    PiPipeconfService programs;

    @Activate
    void activate() throws P4InfoParserException {
        List<PiPipeconf> loaded = new ArrayList<>();
        for (String name : Programs.NAMES) {
            loaded.add(Programs.load(name));
        }
        for (String name : Programs.TOFINO2_NAMES) {
            loaded.add(Programs.loadTofino2(name));
        }
        loaded.forEach(programs::register);
    }

    @Deactivate
    void deactivate() {
        for (String name : Programs.NAMES) {
            programs.unregister(Programs.id(name));
        }
        for (String name : Programs.TOFINO2_NAMES) {
            programs.unregister(Programs.tofino2Id(name));
        }
    }
}

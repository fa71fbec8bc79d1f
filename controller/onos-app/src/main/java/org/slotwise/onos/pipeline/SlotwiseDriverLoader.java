// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import org.onosproject.net.driver.AbstractDriverLoader;
import org.osgi.service.component.annotations.Component;

/** Registers the {@code slotwise} driver while the app is active. */
@Component(immediate = true)
public final class SlotwiseDriverLoader extends AbstractDriverLoader {
    /** Reads the driver's definition. */
    public SlotwiseDriverLoader() {
        super("/slotwise-drivers.xml");
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import org.slotwise.rest.system.SystemPart;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;

/** Parts of rings that tests make without a document. */
public final class RingParts {
    private RingParts() {
    }

    /** Of a ring. */
    public static SystemPart<RingView> of(RingNetwork network) {
        return new SystemPart<>(network.topology(), () -> new FairnessApp(network), RingResources.of(network));
    }
}

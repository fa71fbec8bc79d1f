// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.Arrays;
import org.slotwise.control.Command;
import org.slotwise.onos.api.SlotwiseEvent;

/** What applications tell, as events for others in ONOS. */
final class SlotwiseEvents {
    private SlotwiseEvents() {
    }

    /** Of the type that is called what the notice is, or else of {@code OTHER}. */
    static SlotwiseEvent of(Command.Notice notice) {
        return new SlotwiseEvent(Arrays.stream(SlotwiseEvent.Type.values())
                .filter(type -> type.name().equalsIgnoreCase(notice.event())).findFirst().orElse(SlotwiseEvent.Type.OTHER),
                notice.app(), notice.toString());
    }
}

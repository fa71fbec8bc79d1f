// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import org.slotwise.control.Command;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Version;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

/** The message that tells the master to bring a version in force. */
public final class CommitMessage {
    private CommitMessage() {
    }

    /** Returns the packet-out for the master of {@code core}: {@code version} from {@code firstFrame} on, or as soon as possible. */
    public static Command.PacketOut to(Core core, Edge master, Version version, long firstFrame) {
        int id = master.id().value();
        byte[] frame = ControlMessage.encode(OpticalKind.COMMIT, core.id().value(), id, id, master.mac().value(), 0,
                new CommitHeader(0, 0, version.value(), firstFrame).encode());
        return new Command.PacketOut(master.device(), WireConstants.PORT_SELF, frame);
    }
}

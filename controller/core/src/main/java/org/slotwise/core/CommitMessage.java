// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.nio.ByteBuffer;
import org.slotwise.core.network.Core;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Version;
import org.slotwise.core.wire.CommitHeader;
import org.slotwise.core.wire.EthernetHeader;
import org.slotwise.core.wire.OpticalHeader;
import org.slotwise.core.wire.OpticalKind;
import org.slotwise.core.wire.WireConstants;

/** The message that tells the master to bring a version in force. */
final class CommitMessage {
    private CommitMessage() {
    }

    /** A packet-out for the master of {@code core} itself: {@code version} from {@code firstFrame} on, or as soon as possible. */
    static Command.PacketOut to(Core core, Edge master, Version version, long firstFrame) {
        int id = master.id().value();
        byte[] ethernet = new EthernetHeader(master.mac().value(), 0, WireConstants.ETHERTYPE_OPTICAL).encode();
        byte[] optical = new OpticalHeader(WireConstants.OPTICAL_VERSION, OpticalKind.COMMIT.code(), 0, id, id,
                WireConstants.SIGNALING_QUEUE, 0, core.id().value(), 0, 0).encode();
        byte[] commit = new CommitHeader(0, 0, version.value(), firstFrame).encode();
        byte[] frame = ByteBuffer.allocate(ethernet.length + optical.length + commit.length)
                .put(ethernet).put(optical).put(commit).array();
        return new Command.PacketOut(master.device(), WireConstants.PORT_SELF, frame);
    }
}

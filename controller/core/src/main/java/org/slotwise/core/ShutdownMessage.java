// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.nio.ByteBuffer;
import org.slotwise.core.network.Core;
import org.slotwise.core.network.Edge;
import org.slotwise.core.wire.EthernetHeader;
import org.slotwise.core.wire.FaultCode;
import org.slotwise.core.wire.FaultHeader;
import org.slotwise.core.wire.OpticalHeader;
import org.slotwise.core.wire.OpticalKind;
import org.slotwise.core.wire.WireConstants;

/** The message that makes a master tell its slaves that it ends, or takes that back. */
final class ShutdownMessage {
    private static final int IS_OVER = 1;

    private ShutdownMessage() {
    }

    /** A packet-out for the master of {@code core} itself; {@code frame} is newer than that of any such order before. */
    static Command.PacketOut to(Core core, Edge master, long frame, boolean down) {
        int id = master.id().value();
        byte[] ethernet = new EthernetHeader(master.mac().value(), 0, WireConstants.ETHERTYPE_OPTICAL).encode();
        byte[] optical = new OpticalHeader(WireConstants.OPTICAL_VERSION, OpticalKind.FAULT.code(), 0, id, id,
                WireConstants.SIGNALING_QUEUE, 0, core.id().value(), 0, 0).encode();
        byte[] fault = new FaultHeader(0, frame, FaultCode.SHUTDOWN.code(), down ? 0 : IS_OVER, id).encode();
        byte[] message = ByteBuffer.allocate(ethernet.length + optical.length + fault.length)
                .put(ethernet).put(optical).put(fault).array();
        return new Command.PacketOut(master.device(), WireConstants.PORT_SELF, message);
    }
}

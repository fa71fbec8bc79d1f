// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Optional;
import org.slotwise.control.Command;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.WireConstants;

/**
 * Makes a master tell its slaves that it ends, or takes that back. Orders are numbered by the master's frames, so that it
 * takes each once and none that another has overtaken: there is one a frame at most, the last that was wanted.
 */
final class ShutdownOrders {
    private static final int IS_OVER = 1;

    private final Network network;
    private boolean down;
    private boolean due;
    /** Frame of the last order; null before. */
    private Long lastFrame;

    ShutdownOrders(Network network) {
        this.network = network;
    }

    /** Whether the master is shut down. */
    boolean isDown() {
        return down;
    }

    /** Shuts the master down, or takes that back. */
    void want(boolean wanted) {
        down = wanted;
        due = network.byInvitation();
    }

    /** The master forgets what it was told, and of which frame, when it starts anew: it is told again. */
    void masterIsBack() {
        due |= down && network.byInvitation();
        lastFrame = null;
    }

    /** The packet-out for the master itself that is due when it is in this frame. */
    Optional<Command.PacketOut> at(long masterFrame) {
        if (!due || lastFrame != null && FrameNumber.difference(masterFrame, lastFrame) <= 0) {
            return Optional.empty();
        }
        due = false;
        lastFrame = masterFrame;
        return Optional.of(message(network.core(), network.master()));
    }

    private Command.PacketOut message(Core core, Edge master) {
        int id = master.id().value();
        byte[] frame = ControlMessage.encode(OpticalKind.FAULT, core.id().value(), id, id, master.mac().value(), 0,
                new FaultHeader(0, lastFrame, FaultCode.SHUTDOWN.code(), down ? 0 : IS_OVER, id).encode());
        return new Command.PacketOut(master.device(), WireConstants.PORT_SELF, frame);
    }
}

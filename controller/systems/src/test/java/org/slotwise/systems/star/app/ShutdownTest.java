// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.membership.MemberState;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.WireConstants;

/** A master that is shut down where edges join by invitation. */
class ShutdownTest {
    private static final DeviceId MASTER = DeviceId.of(1);

    private final Network network = Networks.byInvitation(Networks.star(3, 20));
    private final StarController controller = new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);
    private final List<Command.PacketOut> packetOuts = new ArrayList<>();
    private long nowNs;
    private int frame;

    private void deliver(Event event) {
        for (Command command : controller.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else if (command instanceof Command.PacketOut) {
                packetOuts.add((Command.PacketOut) command);
            }
        }
    }

    private void start() {
        network.devices().forEach(device -> deliver(new Event.DeviceReady(device, List.of())));
    }

    /** The master's own request, and what has come due. */
    private void runFrame() {
        nowNs += network.frame().frameNs();
        frame++;
        deliver(new Event.PacketIn(MASTER, WireConstants.PORT_LINECARD, new RequestMessage(0).frame(frame).encode()));
    }

    private List<FaultHeader> shutdowns() {
        List<FaultHeader> found = new ArrayList<>();
        for (Command.PacketOut packet : packetOuts) {
            assertEquals(MASTER, packet.device());
            assertEquals(WireConstants.PORT_SELF, packet.port());
            FaultHeader.decode(packet.frame(), ControlMessage.PAYLOAD)
                    .filter(fault -> fault.code() == FaultCode.SHUTDOWN.code()).ifPresent(found::add);
        }
        return found;
    }

    private boolean isAnyInvited() {
        return controller.snapshot().members().stream().anyMatch(member -> member.state() != MemberState.ABSENT);
    }

    @Test
    void masterIsToldAndNobodyIsInvitedUntilItIsTakenBack() {
        start();
        runFrame();
        assertTrue(isAnyInvited());
        deliver(new MasterShutdown(CoreId.of(0), true));
        assertEquals(0, shutdowns().get(0).flags());
        for (int i = 0; i < 200; i++) {
            runFrame();
            assertFalse(isAnyInvited());
        }
        assertTrue(controller.snapshot().isShutDown());
        deliver(new MasterShutdown(CoreId.of(0), false));
        assertEquals(1, shutdowns().get(1).flags());
        runFrame();
        assertTrue(isAnyInvited());
    }

    @Test
    void masterThatStartsAnewIsToldAgain() {
        deliver(new MasterShutdown(CoreId.of(0), true));
        start();
        assertEquals(0, shutdowns().size(), "the master's frame is not known");
        runFrame();
        assertEquals(1, shutdowns().size());
        deliver(new Event.DeviceLost(MASTER));
        deliver(new Event.DeviceReady(MASTER, List.of()));
        runFrame();
        assertEquals(2, shutdowns().size());
        assertEquals(List.of(1L, 2L), shutdowns().stream().map(FaultHeader::frame).collect(Collectors.toList()));
    }

    @Test
    void ordersOfOneFrameBecomeTheLastOfThem() {
        start();
        runFrame();
        deliver(new MasterShutdown(CoreId.of(0), true));
        deliver(new MasterShutdown(CoreId.of(0), false));
        deliver(new MasterShutdown(CoreId.of(0), true));
        deliver(new MasterShutdown(CoreId.of(0), false));
        assertEquals(1, shutdowns().size());
        runFrame();
        runFrame();
        assertEquals(List.of(0, 1), shutdowns().stream().map(FaultHeader::flags).collect(Collectors.toList()));
    }

    @Test
    void anotherCoreIsTheCallersMistake() {
        assertThrows(IllegalArgumentException.class,
                () -> controller.onEvent(0, new MasterShutdown(CoreId.of(1), true)));
    }
}

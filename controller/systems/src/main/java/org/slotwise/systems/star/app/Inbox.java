// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Optional;
import java.util.function.Consumer;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.demand.Request;
import org.slotwise.systems.star.demand.RequestReader;
import org.slotwise.systems.star.demand.RequestReader.Refused;
import org.slotwise.systems.star.membership.Membership;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Network;

/** Receiver of a star's packet-ins: each message goes to membership, to the relay of beacons, or is read as a request. */
final class Inbox {
    private final Network network;
    private final RequestReader reader;
    private final MasterRelay relay;
    private final Membership membership;
    private final Consumer<Command.PacketOut> handOn;

    /** Takes the star, and what sends beacons on to members. */
    Inbox(Network network, Membership membership, Consumer<Command.PacketOut> handOn) {
        this.network = network;
        this.reader = new RequestReader(network);
        this.relay = new MasterRelay(network);
        this.membership = membership;
        this.handOn = handOn;
    }

    /** Returns the request in a packet; empty if its message is for another receiver. */
    Optional<Request> read(long nowNs, Event.PacketIn packet) throws Refused {
        return Message.read(packet.frame()).accept(new Walk(nowNs, packet.device(), packet.port()));
    }

    /** Forgets the frames of a master before its restart. */
    void masterIsLost() {
        relay.reset();
    }

    private final class Walk implements Message.Visitor<Optional<Request>, Refused> {
        private final long nowNs;
        private final DeviceId device;
        private final int port;

        Walk(long nowNs, DeviceId device, int port) {
            this.nowNs = nowNs;
            this.device = device;
            this.port = port;
        }

        private Optional<Request> asked(Message message) throws Refused {
            return Optional.of(reader.read(device, port, message));
        }

        @Override
        public Optional<Request> request(Message.Request message) throws Refused {
            return asked(message);
        }

        @Override
        public Optional<Request> beacon(Message.Beacon message) throws Refused {
            if (!network.outOfBand()) {
                return asked(message);
            }
            handOn.accept(relay.handOn(device, port, message));
            return Optional.empty();
        }

        @Override
        public Optional<Request> answer(Message.Answer message) throws Refused {
            if (!network.byInvitation()) {
                return asked(message);
            }
            membership.onAnswer(device, port, message);
            return Optional.empty();
        }

        @Override
        public Optional<Request> sync(Message.Sync message) throws Refused {
            if (!network.byInvitation()) {
                return asked(message);
            }
            membership.onSync(nowNs, device, port, message);
            return Optional.empty();
        }

        @Override
        public Optional<Request> fault(Message.Fault message) throws Refused {
            if (network.outOfBand() && message.optical().srcEdge() == network.master().id().value()) {
                handOn.accept(relay.handOn(device, port, message));
                return Optional.empty();
            }
            if (!network.byInvitation()) {
                return asked(message);
            }
            membership.onFault(nowNs, device, port, message);
            return Optional.empty();
        }

        @Override
        public Optional<Request> other(Message.Other message) throws Refused {
            return asked(message);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.ConfigurationHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;

/** What the controller itself tells an edge about its membership, out of band. Immutable. */
public final class MemberNotice {
    private final Edge edge;
    private final byte[] frame;

    private MemberNotice(Network network, Edge edge, OpticalKind kind, byte[]... headers) {
        this.edge = edge;
        this.frame = ControlMessage.encode(kind, network.core().id().value(), network.master().id().value(),
                edge.id().value(), edge.mac().value(), 0, headers);
    }

    /** It has answered: how time is cut, and its T_d. */
    static MemberNotice configuration(Network network, int place, long session, int holdFrames, long phaseNs) {
        return new MemberNotice(network, network.edges().get(place), OpticalKind.CONFIGURATION,
                new ConfigurationHeader(session, network.frame().slotNs(), network.frame().guardNs(),
                        network.frame().slots(), holdFrames, phaseNs).encode());
    }

    /**
     * What its SYNC measured, as the master would tell it. No line card times a packet-out, so it says that it came when the
     * light left; that time is within a second of the master's clock, since T_d is.
     */
    static MemberNotice measurement(Network network, MemberMessage sync) {
        return new MemberNotice(network, network.edges().get(sync.edge()), OpticalKind.SYNC,
                new StampHeader(0, sync.sentNs()).encode(),
                new SyncHeader(sync.session(), sync.frame(), sync.sentNs(), sync.measuredNs()).encode());
    }

    /** Whom it is for. */
    public Edge edge() {
        return edge;
    }

    /** Bytes from Ethernet on, for PORT_SELF. */
    public byte[] frame() {
        return frame.clone();
    }
}

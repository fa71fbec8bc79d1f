// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import java.util.List;
import java.util.OptionalLong;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;

/** What the master sends to an edge in its signaling slot, and whether it listens to it. Immutable. */
public final class MemberOrder {
    private enum Kind { INVITE, CONFIGURE, KEEP }

    private final Kind kind;
    private final long session;
    private final long answerNs;
    private final int holdFrames;
    private final long phaseNs;

    private MemberOrder(Kind kind, long session, long answerNs, int holdFrames, long phaseNs) {
        this.kind = kind;
        this.session = session;
        this.answerNs = answerNs;
        this.holdFrames = holdFrames;
        this.phaseNs = phaseNs;
    }

    /** Invite it: {@code nonce} becomes the session, and the answer is to leave {@code answerNs} after it came. */
    public static MemberOrder invite(long nonce, long answerNs) {
        return new MemberOrder(Kind.INVITE, nonce, answerNs, 0, 0);
    }

    /** Tell it T_d, and that it falls silent after {@code holdFrames} without a measurement. */
    public static MemberOrder configure(long session, int holdFrames, long phaseNs) {
        return new MemberOrder(Kind.CONFIGURE, session, 0, holdFrames, phaseNs);
    }

    /** Send it beacons and measurements. */
    public static MemberOrder keep(long session) {
        return new MemberOrder(Kind.KEEP, session, 0, 0, 0);
    }

    /** The session of {@code edge} if {@code entry} of the master's tables accepts it. */
    public static OptionalLong sessionIn(TableEntry entry, Network network, Edge edge) {
        TableEntry expected = member(network, edge, 0);
        if (!entry.key().equals(expected.key())) {
            return OptionalLong.empty();
        }
        Long session = entry.params().get("session");
        return session == null ? OptionalLong.empty() : OptionalLong.of(session);
    }

    /** The master's entries for it: in-band each message in the edge's slot, out of band only what must be light. */
    List<TableEntry> entries(Network network, Edge edge) {
        switch (kind) {
            case INVITE:
                return List.of(inItsSlot(network, edge, 0).action("send_invitation")
                        .param("edge", edge.id().value()).param("nonce", session).param("mac", edge.mac().value())
                        .param("answer_ns", answerNs).param("port", network.master().fibre().port()).build());
            case CONFIGURE:
                if (network.outOfBand()) {
                    return List.of(member(network, edge, session));
                }
                return List.of(inItsSlot(network, edge, 0).action("send_configuration")
                        .param("edge", edge.id().value()).param("session", session)
                        .param("slot_ns", network.frame().slotNs()).param("guard_ns", network.frame().guardNs())
                        .param("slots", network.frame().slots()).param("hold_frames", holdFrames)
                        .param("phase_ns", phaseNs).param("port", network.master().fibre().port()).build(),
                        toIt(network, edge, 1, "send_sync"), member(network, edge, session));
            default:
                if (network.outOfBand()) {
                    return List.of(OutOfBandRules.beacon(network, edge), member(network, edge, session));
                }
                return List.of(toIt(network, edge, 0, "send_commit"), toIt(network, edge, 1, "send_sync"),
                        member(network, edge, session));
        }
    }

    private static TableEntry toIt(Network network, Edge edge, int message, String action) {
        return inItsSlot(network, edge, message).action(action)
                .param("edge", edge.id().value()).param("port", network.master().fibre().port()).build();
    }

    /** What the master says by light in an edge's slot, numbered from 0. */
    private static TableEntry.Builder inItsSlot(Network network, Edge edge, int message) {
        int slot = network.signalingSlot(edge);
        return TableEntry.in(SwitchRules.SIGNALING).exact(SwitchRules.CORE, network.core().id().value())
                .exact("slot", slot).exact("repeat", SwitchRules.firstLight(network, network.master(), slot) + message);
    }

    private static TableEntry member(Network network, Edge edge, long session) {
        return TableEntry.in(SwitchRules.MEMBER).exact("edge", edge.id().value())
                .exact("port", network.master().fibre().port())
                .action("accept_session").param("session", session).build();
    }
}

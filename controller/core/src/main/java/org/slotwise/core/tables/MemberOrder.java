// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.tables;

import java.util.List;
import java.util.OptionalLong;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;

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

    /** The master's entries for it. */
    List<TableEntry> entries(Network network, Edge edge) {
        int port = network.master().fibre().port();
        int slot = network.signalingSlot(edge);
        int core = network.core().id().value();
        TableEntry.Builder first = TableEntry.in(SwitchRules.SIGNALING)
                .exact(SwitchRules.CORE, core).exact("slot", slot).exact("repeat", 1);
        switch (kind) {
            case INVITE:
                return List.of(first.action("send_invitation")
                        .param("edge", edge.id().value()).param("nonce", session).param("mac", edge.mac().value())
                        .param("answer_ns", answerNs).param("port", port).build());
            case CONFIGURE:
                return List.of(first.action("send_configuration")
                        .param("edge", edge.id().value()).param("session", session)
                        .param("slot_ns", network.frame().slotNs()).param("guard_ns", network.frame().guardNs())
                        .param("slots", network.frame().slots()).param("hold_frames", holdFrames)
                        .param("phase_ns", phaseNs).param("port", port).build(),
                        member(network, edge, session));
            default:
                return List.of(first.action("send_commit")
                        .param("edge", edge.id().value()).param("port", port).build(),
                        TableEntry.in(SwitchRules.SIGNALING)
                                .exact(SwitchRules.CORE, core).exact("slot", slot).exact("repeat", 2)
                                .action("send_sync").param("edge", edge.id().value()).param("port", port).build(),
                        member(network, edge, session));
        }
    }

    private static TableEntry member(Network network, Edge edge, long session) {
        return TableEntry.in(SwitchRules.MEMBER).exact("edge", edge.id().value())
                .exact("port", network.master().fibre().port())
                .action("accept_session").param("session", session).build();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.onosproject.store.service.StorageException;
import org.slotwise.control.Command;
import org.slotwise.onos.flow.Fence.SupersededException;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.rest.StarPart;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.OpticalKind;

/** Commits that are kept before they are sent, and requests that are older than the last one. */
class CommitsTest {
    private static final Runnable OURS = () -> { };
    private static final Runnable ANOTHERS = () -> {
        throw new SupersededException("another leads");
    };

    private final FakeOnos onos = new FakeOnos();
    private StarPart part;
    private Network network;
    private long nowNs = 1;
    private int nodes;

    @BeforeEach
    void readExample() throws IOException {
        part = (StarPart) FakeOnos.config(FakeOnos.exampleNetwork()).document().parts().get(StarApp.ID);
        network = part.network();
    }

    /** As another node, which has no more than the map. */
    private Commits.OfTerm begin(long term) {
        return new Commits(onos.storage, "node" + ++nodes).begin(term, part.commits().map(star -> Map.of(StarApp.ID, star)).orElseThrow());
    }

    private byte[] commit(long version) {
        Edge master = network.master();
        return ControlMessage.encode(OpticalKind.COMMIT, network.core().id().value(), master.id().value(), master.id().value(),
                master.mac().value(), 0, new CommitHeader(0, 0, version, 100).encode());
    }

    private static byte[] request(long frame, long active) {
        return new RequestMessage(0).frame(frame).versions(active, active).encode();
    }

    @Test
    void requestsOfBeforeTheLastCommitAreOldAndThoseAfterItAreNot() {
        Commits.OfTerm first = begin(1);
        assertFalse(first.isOld(request(1, 0), nowNs), "nothing was ever told");
        first.keep(commit(7), OURS);
        assertFalse(first.isOld(request(2, 6), nowNs), "its own leader waits for it");
        Commits.OfTerm second = begin(2);
        assertTrue(second.isOld(request(3, 6), nowNs));
        assertTrue(second.isOld(request(3, 5), nowNs));
        assertFalse(second.isOld(request(4, 7), nowNs));
        assertFalse(second.isOld(request(5, 8), nowNs));
        assertTrue(second.isOld(request(3, 6), nowNs), "what comes late is old still");
        assertTrue(begin(3).isOld(request(9, 6), nowNs), "a leader that told nothing has forgotten what was told before");
    }

    @Test
    void versionsGoRound() {
        begin(1).keep(commit(0), OURS);
        Commits.OfTerm second = begin(2);
        assertTrue(second.isOld(request(3, 0xffff_ffffL), nowNs));
        assertFalse(second.isOld(request(3, 0), nowNs));
    }

    @Test
    void aCommitThatMayBeLostIsToldAgainNowAndThen() {
        begin(1).keep(commit(7), OURS);
        Commits.OfTerm second = begin(2);
        assertTrue(second.isOld(request(3, 6), nowNs));
        assertEquals(Optional.empty(), second.again(request(3, 6), nowNs), "it may be on its way");
        nowNs += Commits.REPEAT_NS;
        assertTrue(second.isOld(request(50, 6), nowNs));
        Command.PacketOut order = second.again(request(50, 6), nowNs).orElseThrow();
        assertEquals(network.master().device(), order.device());
        CommitHeader told = CommitHeader.decode(order.frame(), ControlMessage.PAYLOAD).orElseThrow();
        assertEquals(List.of(7L, 51L), List.of(told.nextVersion(), told.firstFrame()));
        assertFalse(ControlMessage.isCorrupted(order.frame()));
        assertEquals(Optional.empty(), second.again(request(50, 6), nowNs));
        nowNs += Commits.REPEAT_NS;
        assertEquals(Optional.empty(), second.again(request(51, 5), nowNs), "no master takes a version that does not follow");
        assertTrue(second.again(request(52, 6), nowNs).isPresent());
    }

    @Test
    void nobodyTellsACommitAfterTheNextLeaderHasReadWhichWasTheLast() {
        Commits.OfTerm first = begin(1);
        first.keep(commit(1), OURS);
        Commits.OfTerm second = begin(2);
        assertThrows(SupersededException.class, () -> first.keep(commit(2), ANOTHERS));
        assertDoesNotThrow(() -> second.keep(commit(2), ANOTHERS));
        assertTrue(begin(3).isOld(request(3, 1), nowNs));
    }

    @Test
    void aLeaderThatIsStillInForceTellsItsCommitWhateverWasWrittenMeanwhile() {
        Commits.OfTerm first = begin(1);
        begin(1);
        first.keep(commit(3), OURS);
        assertTrue(begin(2).isOld(request(3, 2), nowNs));
    }

    @Test
    void aCommitThatTheClusterMayHaveKeptIsKeptWhenItAnswers() {
        Commits.OfTerm first = begin(1);
        onos.storage.failing = true;
        assertThrows(StorageException.class, () -> first.keep(commit(4), OURS));
        onos.storage.failing = false;
        first.keep(commit(4), OURS);
        first.keep(commit(4), ANOTHERS);
        assertTrue(begin(2).isOld(request(3, 3), nowNs));
    }

    @Test
    void aMasterThatStartedAnewCountsAnew() {
        begin(1).keep(commit(7), OURS);
        Commits.OfTerm second = begin(2);
        second.forget(network.core().device(), OURS);
        assertTrue(second.isOld(request(1, 0), nowNs), "it is not the master that has no tables");
        second.forget(network.master().device(), OURS);
        assertFalse(second.isOld(request(1, 0), nowNs));
        assertFalse(begin(3).isOld(request(1, 0), nowNs));
    }

    @Test
    void whoSaysTheSameForLongIsBelieved() {
        begin(1).keep(commit(7), OURS);
        Commits.OfTerm second = begin(2);
        assertTrue(second.isOld(request(1, 3), nowNs));
        nowNs += Commits.PATIENCE_NS - 1;
        assertTrue(second.isOld(request(2, 3), nowNs));
        assertFalse(second.isOld(request(3, 7), nowNs));
        nowNs += 1;
        assertTrue(second.isOld(request(2, 3), nowNs), "the last commit was in force meanwhile");
        nowNs += Commits.PATIENCE_NS;
        assertFalse(second.isOld(request(4, 3), nowNs));
        assertFalse(second.isOld(request(5, 3), nowNs));
    }

    @Test
    void whatIsNoRequestIsNeverOld() {
        begin(1).keep(commit(7), OURS);
        Commits.OfTerm second = begin(2);
        byte[] damaged = request(1, 3);
        damaged[ControlMessage.PAYLOAD]++;
        assertFalse(second.isOld(damaged, nowNs), "the controller counts it");
        assertFalse(second.isOld(commit(3), nowNs));
        assertFalse(second.isOld(new byte[3], nowNs));
        assertTrue(second.isCommit(commit(3)));
        assertFalse(second.isCommit(request(1, 3)));
    }
}

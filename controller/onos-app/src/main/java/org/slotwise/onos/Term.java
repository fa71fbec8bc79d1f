// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.flow.Fence;

/** A time in which this node leads; nothing reaches a switch when it is over. */
final class Term implements Fence {
    private static final Logger LOG = LoggerFactory.getLogger(Term.class);

    private final long number;
    private final LeaderTerms terms;
    private final Commits.OfTerm commits;
    private final Runnable onSuperseded;
    private volatile boolean over;

    /** Takes what is told when another leader is found, on any thread. */
    Term(long number, LeaderTerms terms, Commits.OfTerm commits, Runnable onSuperseded) {
        this.number = number;
        this.terms = terms;
        this.commits = commits;
        this.onSuperseded = onSuperseded;
    }

    long number() {
        return number;
    }

    @Override
    public long mandate() {
        return terms.mandate(number);
    }

    Commits.OfTerm commits() {
        return commits;
    }

    void end() {
        over = true;
    }

    @Override
    public void check() {
        if (over) {
            throw new SupersededException("term " + number + " of this node has ended");
        }
        try {
            terms.check(number);
        } catch (SupersededException e) {
            over = true;
            LOG.warn("this node is no longer the leader: {}", e.getMessage());
            onSuperseded.run();
            throw e;
        }
    }

    @Override
    public boolean isOpen() {
        return !over;
    }

    @Override
    public boolean isToBeKept(byte[] frame) {
        return commits.isCommit(frame);
    }

    @Override
    public void keep(byte[] frame) {
        commits.keep(frame, this::check);
    }

    @Override
    public void hasNoTables(DeviceId device) {
        commits.forget(device, this::check);
    }

    @Override
    public String toString() {
        return "term " + number;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * iSLIP (McKeown, "The iSLIP Scheduling Algorithm for Input-Queued Switches", IEEE/ACM Transactions on Networking 7(2),
 * 1999): round-robin pointers, moved beyond a partner only when a grant of the first iteration is accepted, so that they
 * come to point to different partners.
 */
final class IslipMatcher extends IterativeMatcher {
    private int[] grantPointer = {};
    private int[] acceptPointer = {};

    IslipMatcher(int iterations) {
        super(iterations);
    }

    @Override
    void begin(int edges) {
        if (grantPointer.length != edges) {
            grantPointer = new int[edges];
            acceptPointer = new int[edges];
        }
    }

    @Override
    int grant(int receiver, int edges, Candidates senders) {
        return firstFrom(grantPointer[receiver], edges, senders);
    }

    @Override
    int accept(int sender, int edges, Candidates receivers) {
        return firstFrom(acceptPointer[sender], edges, receivers);
    }

    private static int firstFrom(int pointer, int edges, Candidates candidates) {
        for (int k = 0; k < edges; k++) {
            int edge = pointer + k < edges ? pointer + k : pointer + k - edges;
            if (candidates.contains(edge)) {
                return edge;
            }
        }
        return FrameSchedule.NONE;
    }

    @Override
    void accepted(int sender, int receiver, int edges, int iteration) {
        if (iteration == 0) {
            grantPointer[receiver] = (sender + 1) % edges;
            acceptPointer[sender] = (receiver + 1) % edges;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import org.slotwise.systems.lambda.model.LambdaWeb;

/** What a {@link LambdaApp} shows of itself. Immutable. */
public final class LambdaView {
    private final LambdaWeb web;
    private final Grants grants;
    private final long refused;

    LambdaView(LambdaWeb web, Grants grants, long refused) {
        this.web = web;
        this.grants = grants;
        this.refused = refused;
    }

    /** The network. */
    public LambdaWeb web() {
        return web;
    }

    /** The sessions and what they have. */
    public Grants grants() {
        return grants;
    }

    /** Sessions that could not be taken. */
    public long refused() {
        return refused;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** Two ports that send to each other. */
public final class Link {
    private final Lane there;
    private final Lane back;

    /** Takes both lanes; throws IllegalArgumentException if they do not join the same ports. */
    public Link(Lane there, Lane back) {
        if (!there.isOpposite(back)) {
            throw new IllegalArgumentException(there + " and " + back + " are not the two directions of one link");
        }
        this.there = there;
        this.back = back;
    }

    /** One of them. */
    public Lane there() {
        return there;
    }

    /** The other one. */
    public Lane back() {
        return back;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** A network that cannot work: says where, what is wrong, and what would be right. */
public final class InvalidNetworkException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    private final String where;

    /** Takes the place in the network, such as {@code edges[1].fibres}, and the reason. */
    public InvalidNetworkException(String where, String reason) {
        super(where + ": " + reason);
        this.where = where;
    }

    /** The place in the network. */
    public String where() {
        return where;
    }
}

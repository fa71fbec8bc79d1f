// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

/** A switch could not be read or written; the message says why. */
public final class SwitchUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Takes the reason. */
    public SwitchUnavailableException(String reason) {
        super(reason);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/** A scheduler or setting that does not exist, or a value that it cannot have; says what would be right. */
public final class InvalidSettingsException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Takes the reason, fit to be shown to whoever sent the settings. */
    public InvalidSettingsException(String reason) {
        super(reason);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.time.Duration;

/**
 * How long a switch is waited for where time is this machine's. In lock step the fabric may stand still as long as it likes, and this
 * machine too: {@link #ENDLESS}.
 *
 * @param arbitration for the answer to who is primary, from when the stream is opened
 * @param call for the answer to a read or write
 * @param program for the answer to a program
 * @param silence after so long without a message the switch is asked for one, which must come as soon again; after twice as
 *        long the connection is asked as well, and given up if it does not answer in this time
 */
public record Patience(Duration arbitration, Duration call, Duration program, Duration silence) {
    /** No time is too long. */
    static final Duration WITHOUT_END = Duration.ofSeconds(Long.MAX_VALUE);
    /** For switches that stand still while nobody answers them. */
    static final Patience ENDLESS = new Patience(WITHOUT_END, WITHOUT_END, WITHOUT_END, WITHOUT_END);
    /** For switches on any network. */
    public static final Patience DEFAULT =
            new Patience(Duration.ofSeconds(5), Duration.ofSeconds(10), Duration.ofSeconds(60), Duration.ofSeconds(5));
}

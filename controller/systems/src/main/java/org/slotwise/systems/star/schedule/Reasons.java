// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/** What others' code threw, in words that can be shown: their messages may be anything, or fail themselves. */
public final class Reasons {
    private static final int MOST = 500;

    private Reasons() {
    }

    /** One line of at most 500 characters. */
    public static String of(Throwable error) {
        String text;
        try {
            text = error instanceof Scheduler.FailedException ? error.getMessage() : error.toString();
        } catch (RuntimeException | Error hidden) {
            text = null;
        }
        String shown = text == null ? error.getClass().getName() : text;
        StringBuilder line = new StringBuilder();
        shown.substring(0, Math.min(MOST, shown.length())).chars()
                .forEach(character -> line.append(Character.isISOControl(character) ? ' ' : (char) character));
        return line.toString();
    }
}

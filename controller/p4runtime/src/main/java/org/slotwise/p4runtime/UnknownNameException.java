// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

/** The P4 program lacks a name that the controller uses: the program and the controller do not belong together. */
public final class UnknownNameException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UnknownNameException(String what, String name) {
        super("the P4 program has no " + what + " '" + name + "'");
    }
}

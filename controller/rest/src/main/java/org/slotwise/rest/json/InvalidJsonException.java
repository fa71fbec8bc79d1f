// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

/** A JSON value that is not what it should be: says where, what is wrong, and what would be right. */
public final class InvalidJsonException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Takes the place, such as {@code network.edges[1].mac}, and the reason. */
    public InvalidJsonException(String where, String reason) {
        super(where.isEmpty() ? reason : where + ": " + reason);
    }

    /** Of what is found wrong without knowing that it is part of a larger document: {@code where} is its place there, or empty. */
    public static InvalidJsonException within(String where, Exception found) {
        return new InvalidJsonException("", where.isEmpty() ? found.getMessage() : where + "." + found.getMessage());
    }
}

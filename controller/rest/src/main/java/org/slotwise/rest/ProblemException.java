// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.Response;

/** A request that cannot be served; the message says what was wrong and what would be right. */
public final class ProblemException extends WebApplicationException {
    private static final long serialVersionUID = 1L;

    /** Takes the status, and what callers are told. */
    public ProblemException(int status, String detail) {
        super(detail, status);
    }

    /** Takes the answer but for its body, and what callers are told. */
    ProblemException(Response answer, String detail) {
        super(detail, answer);
    }
}

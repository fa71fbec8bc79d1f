// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.Map;
import javax.ws.rs.core.Response;

/** Titles of problem documents: the names of statuses in RFC 9110, for resources and server alike. */
public final class ProblemTitle {
    /** Statuses that JAX-RS 2.1 does not know, or calls by an older name. */
    private static final Map<Integer, String> NAMES = Map.of(
            413, "Content Too Large", 414, "URI Too Long", 416, "Range Not Satisfiable",
            422, "Unprocessable Content", 426, "Upgrade Required", 507, "Insufficient Storage");

    private ProblemTitle() {
    }

    /** Returns the title of a status. */
    public static String of(int status) {
        Response.Status known = Response.Status.fromStatusCode(status);
        return NAMES.getOrDefault(status, known == null ? "Status " + status : known.getReasonPhrase());
    }
}

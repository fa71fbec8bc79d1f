// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** JSON body of a request. */
final class RequestBody {
    private static final String NO_CODING = "identity";

    private RequestBody() {
    }

    /** Reads it; throws {@link ProblemException} 400, 413 or 415 for a body that is none of JSON. */
    static JsonNode read(HttpHeaders headers, InputStream body) throws IOException {
        checkForm(headers);
        return parse(body);
    }

    /** JAX-RS takes no type and patterns of types for JSON as well, and does not look at how a body is written. */
    private static void checkForm(HttpHeaders headers) {
        MediaType type = headers.getMediaType();
        if (type == null || type.isWildcardType() || type.isWildcardSubtype()) {
            throw new ProblemException(415, "missing or ambiguous Content-Type; expected application/json");
        }
        String charset = type.getParameters().getOrDefault(MediaType.CHARSET_PARAMETER, StandardCharsets.UTF_8.name());
        if (!charset.equalsIgnoreCase(StandardCharsets.UTF_8.name())) {
            throw new ProblemException(415, "unsupported charset; expected UTF-8, got '" + charset + "'");
        }
        String coding = headers.getHeaderString(HttpHeaders.CONTENT_ENCODING);
        if (coding != null && !coding.equalsIgnoreCase(NO_CODING)) {
            throw new ProblemException(Response.status(415).header(HttpHeaders.ACCEPT_ENCODING, NO_CODING).build(),
                    "unsupported Content-Encoding; expected identity, got '" + coding + "'");
        }
    }

    private static JsonNode parse(InputStream body) throws IOException {
        byte[] text = body.readNBytes(SlotwiseApplication.MAX_BODY_BYTES + 1);
        if (text.length > SlotwiseApplication.MAX_BODY_BYTES) {
            throw new ProblemException(413, "body too large; expected at most " + SlotwiseApplication.MAX_BODY_BYTES + " bytes");
        }
        try {
            return JsonFields.parse(text);
        } catch (InvalidJsonException e) {
            throw new ProblemException(400, e.getMessage());
        }
    }
}

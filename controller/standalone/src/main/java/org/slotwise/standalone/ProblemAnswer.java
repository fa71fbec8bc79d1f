// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.slotwise.page.PageHeaders;
import org.slotwise.rest.ProblemTitle;

/** Answers with a problem document (RFC 9457) what is refused before any resource sees it. */
final class ProblemAnswer implements Request.Handler {
    /** Answers a request. */
    static void send(Request request, Response response, Callback callback, int status, String detail) {
        byte[] body = JsonNodeFactory.instance.objectNode().put("type", "about:blank").put("title", ProblemTitle.of(status))
                .put("status", status).put("detail", detail).toString().getBytes(StandardCharsets.UTF_8);
        response.setStatus(status);
        // The live page's addresses may be among what is refused, and a problem needs nothing that these forbid.
        PageHeaders.of(PageHeaders.Frames.NONE).forEach(response.getHeaders()::put);
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/problem+json");
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
        boolean head = request.getMethod().equals("HEAD");
        response.write(true, ByteBuffer.wrap(body, 0, head ? 0 : body.length), callback);
    }

    /** What Jetty itself refuses: requests that are not HTTP, or too large. */
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        int status = response.getStatus();
        Object said = request.getAttribute(ErrorHandler.ERROR_MESSAGE);
        send(request, response, callback, status, status < HttpStatus.INTERNAL_SERVER_ERROR_500 && said != null
                ? said.toString() : HttpStatus.getMessage(status));
        return true;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.security.Principal;
import java.util.concurrent.TimeUnit;
import javax.ws.rs.core.SecurityContext;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Promise;
import org.glassfish.jersey.internal.MapPropertiesDelegate;
import org.glassfish.jersey.server.ApplicationHandler;
import org.glassfish.jersey.server.ContainerRequest;
import org.glassfish.jersey.server.ContainerResponse;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.spi.ContainerResponseWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.SlotwiseApplication;

/** The JAX-RS resources. They get a request when all of it is here, and their answer is sent when all of it is known. */
final class JerseyHandler extends Handler.Abstract {
    /** Maximum body that is read. A body above the resources' limit is rejected afterwards, and the connection stays open. */
    private static final int MAX_READ_BYTES = 64 * 1024;
    private static final Logger LOG = LoggerFactory.getLogger(JerseyHandler.class);
    private static final SecurityContext NOBODY = new Anybody();

    private static final long MAX_UNTAKEN_BYTES = 32 << 20;

    private final ApplicationHandler resources;
    private final UntakenAnswers answers = new UntakenAnswers(MAX_UNTAKEN_BYTES);

    JerseyHandler(ResourceConfig application) {
        this.resources = new ApplicationHandler(application);
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        // Each chunk costs as much as a request does: a small message could have thousands.
        if (request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING)) {
            refuse(request, HttpStatus.LENGTH_REQUIRED_411, "missing Content-Length; chunked bodies are not supported", response, callback);
            return true;
        }
        // Before it is read: Jetty goes on with a body that turns out too long after it has told so, when the answer may be on its way.
        if (request.getLength() > MAX_READ_BYTES) {
            refuse(request, HttpStatus.PAYLOAD_TOO_LARGE_413, "body too large; expected at most " + SlotwiseApplication.MAX_BODY_BYTES + " bytes",
                    response, callback);
            return true;
        }
        Content.Source.asByteArrayAsync(request, MAX_READ_BYTES, new Promise.Invocable<byte[]>() {
            @Override
            public void succeeded(byte[] body) {
                answerOrFail(request, body, response, callback);
            }

            @Override
            public void failed(Throwable error) {
                refuse(request, HttpStatus.BAD_REQUEST_400, "unreadable body: " + error.getMessage(), response, callback);
            }
        });
        return true;
    }

    private static void refuse(Request request, int status, String detail, Response response, Callback callback) {
        // What follows a body that was not read to its end cannot be read either.
        response.getHeaders().put(HttpHeader.CONNECTION, "close");
        ProblemAnswer.send(request, response, callback, status, detail);
    }

    private void answerOrFail(Request request, byte[] body, Response response, Callback callback) {
        try {
            answer(request, body, response, callback);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            callback.failed(e);
        } catch (Exception e) {
            LOG.error("request failed", e);
            callback.failed(e);
        }
    }

    private void answer(Request request, byte[] body, Response response, Callback callback)
            throws Exception {
        URI base;
        URI uri;
        try {
            base = URI.create(request.getHttpURI().getScheme() + "://" + request.getHttpURI().getAuthority() + "/");
            String query = request.getHttpURI().getQuery();
            uri = base.resolve(path(request.getHttpURI()) + (query == null ? "" : "?" + query));
        } catch (IllegalArgumentException e) {
            ProblemAnswer.send(request, response, callback, HttpStatus.BAD_REQUEST_400,
                    "invalid character in the URI; expected percent-encoding");
            return;
        }
        // A body that Jersey does not write has no length.
        boolean isHead = HttpMethod.HEAD.is(request.getMethod());
        ContainerRequest asked = new ContainerRequest(
                base, uri, isHead ? HttpMethod.GET.asString() : request.getMethod(), NOBODY, new MapPropertiesDelegate(), resources.getConfiguration());
        for (HttpField field : request.getHeaders()) {
            asked.headers(field.getName(), field.getValue());
        }
        asked.setEntityStream(new ByteArrayInputStream(body));
        Answer answer = answers.make(() -> {
            Answer made = new Answer();
            asked.setWriter(made);
            resources.handle(asked);
            return made;
        });
        int size = answer.size();
        if (!answers.mayWait(size)) {
            response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
            ProblemAnswer.send(request, response, callback, HttpStatus.SERVICE_UNAVAILABLE_503,
                    "the client is not reading its responses; retry in 1 s");
            return;
        }
        response.setStatus(answer.head.getStatus());
        answer.head.getStringHeaders().forEach((name, values) -> values.forEach(value -> response.getHeaders().add(name, value)));
        if (isHead && size > 0) {
            response.getHeaders().put(HttpHeader.CONTENT_LENGTH, size);
        }
        response.write(true, isHead ? BufferUtil.EMPTY_BUFFER : answer.bytes(), Callback.from(callback, () -> answers.taken(size)));
    }

    /** Returns the canonical path, or the original one if it has matrix parameters: the canonical path lacks them, and resources must reject them. */
    private static String path(HttpURI uri) {
        String path = uri.getPath();
        return path == null || path.indexOf(';') < 0 ? uri.getCanonicalPath() : path;
    }

    /** Answer of the resources. Jersey's own writer would replace the length of a 304 by the number of written bytes. */
    private static final class Answer extends ByteArrayOutputStream implements ContainerResponseWriter {
        private ContainerResponse head;

        /** Returns the body, without a copy. */
        private ByteBuffer bytes() {
            return ByteBuffer.wrap(buf, 0, count);
        }

        @Override
        public OutputStream writeResponseStatusAndHeaders(long length, ContainerResponse response) {
            head = response;
            return this;
        }

        @Override
        public boolean suspend(long timeout, TimeUnit unit, TimeoutHandler handler) {
            throw new UnsupportedOperationException("no resource is asynchronous");
        }

        @Override
        public void setSuspendTimeout(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException("no resource is asynchronous");
        }

        @Override
        public void commit() {
        }

        @Override
        public void failure(Throwable error) {
            throw new IllegalStateException("request failed", error);
        }

        @Override
        public boolean enableResponseBuffering() {
            return false;
        }
    }

    /** Who may call at all may do all. */
    private static final class Anybody implements SecurityContext {
        @Override
        public Principal getUserPrincipal() {
            return null;
        }

        @Override
        public boolean isUserInRole(String role) {
            return false;
        }

        @Override
        public boolean isSecure() {
            return false;
        }

        @Override
        public String getAuthenticationScheme() {
            return null;
        }
    }
}

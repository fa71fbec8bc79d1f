// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slotwise.rest.ControllerService.UnavailableException;

/** Metrics at {@code /metrics}; what is elsewhere is the next handler's. */
final class MetricsHandler extends Handler.Abstract {
    /** Where they are. */
    private static final String PATH = "/metrics";

    private final PrometheusRegistry registry;
    private final ExpositionFormats formats = ExpositionFormats.init();

    MetricsHandler(PrometheusRegistry registry) {
        this.registry = registry;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws IOException {
        if (!PATH.equals(request.getHttpURI().getCanonicalPath())) {
            return false;
        }
        boolean head = request.getMethod().equals("HEAD");
        if (!head && !request.getMethod().equals("GET")) {
            response.getHeaders().put(HttpHeader.ALLOW, "GET, HEAD");
            ProblemAnswer.send(request, response, callback, HttpStatus.METHOD_NOT_ALLOWED_405, "unsupported method; expected one of GET, HEAD");
            return true;
        }
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        // Whoever would rather have protobuf takes text, too; its classes are not here.
        ExpositionFormatWriter wanted = formats.getOpenMetricsTextFormatWriter();
        ExpositionFormatWriter writer = wanted.accepts(request.getHeaders().get(HttpHeader.ACCEPT)) ? wanted
                : formats.getPrometheusTextFormatWriter();
        try {
            writer.write(text, registry.scrape());
        } catch (UnavailableException e) {
            ProblemAnswer.send(request, response, callback, HttpStatus.SERVICE_UNAVAILABLE_503, e.getMessage());
            return true;
        }
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, writer.getContentType());
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, text.size());
        response.write(true, ByteBuffer.wrap(text.toByteArray(), 0, head ? 0 : text.size()), callback);
        return true;
    }
}

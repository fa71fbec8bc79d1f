// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.util.Optional;
import java.util.logging.Level;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.page.PageHeaders;
import org.slotwise.page.PageResource;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.SlotwiseApplication;

/** Serves the REST resources, and metrics at {@code /metrics}, over HTTP or HTTPS. */
final class RestServer implements AutoCloseable {
    /** Jersey warns of every resource that is given as an object; kept here, or the setting would be collected. */
    private static final java.util.logging.Logger JERSEY_LOG =
            java.util.logging.Logger.getLogger("org.glassfish.jersey");
    private static final Logger LOG = LoggerFactory.getLogger(RestServer.class);
    /** One accepts, one selects; the others answer, and wait for nobody but the controller. */
    private static final int THREADS = 10;
    private static final int SPARE_THREADS = 3;
    private static final int BACKLOG = 128;
    private static final int MAX_HEAD_BYTES = 8192;
    /** Requests under way have so long to end. */
    private static final long STOP_TIMEOUT_MS = 3000;

    private final Server server;
    private final ServerConnector connector;
    private final Connections connections;
    private final RestSettings settings;

    private RestServer(Server server, ServerConnector connector, Connections connections, RestSettings settings) {
        this.server = server;
        this.connector = connector;
        this.connections = connections;
        this.settings = settings;
    }

    /** Starts to serve; port 0 takes any free port. Fails with the address if it is taken. */
    static RestServer start(RestSettings settings, ControllerService service, AuditLog audit) throws IOException {
        return start(settings, service, audit, Connections.Limits.DEFAULT);
    }

    /** The same, with other limits than the ones by default. */
    static RestServer start(RestSettings settings, ControllerService service, AuditLog audit, Connections.Limits limits)
            throws IOException {
        JERSEY_LOG.setLevel(Level.SEVERE);
        QueuedThreadPool threads = new QueuedThreadPool(THREADS, SPARE_THREADS);
        threads.setName("rest");
        Server server = new Server(threads);
        ServerConnector connector = connector(server, settings);
        Connections connections = new Connections(limits, System::nanoTime, connector.getScheduler());
        connector.addBean(connections);
        server.addConnector(connector);
        AccessHandler access = new AccessHandler(settings,
                new Handler.Sequence(new MetricsHandler(metrics(service)), new JerseyHandler(resources(settings, service))));
        server.setHandler(new AuditHandler(audit, connections, new Draining(AccessHandler.limited(settings, access))));
        server.setErrorHandler(new ProblemAnswer());
        server.setStopTimeout(STOP_TIMEOUT_MS);
        try {
            connector.open();
            server.start();
        } catch (Exception e) {
            stop(server);
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException("rest: cannot listen on " + settings.host() + ":" + settings.port() + ": "
                    + cause.getMessage(), e);
        }
        return new RestServer(server, connector, connections, settings);
    }

    /** Rejects new requests while those under way end. */
    private static final class Draining extends GracefulHandler {
        Draining(Handler inside) {
            super(inside);
        }

        @Override
        protected void handleShutdownRejection(Request request, Response response, Callback callback) {
            ProblemAnswer.send(request, response, callback, HttpStatus.SERVICE_UNAVAILABLE_503, "the controller is shutting down");
        }
    }

    private static ServerConnector connector(Server server, RestSettings settings) {
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setRequestHeaderSize(MAX_HEAD_BYTES);
        HttpConnectionFactory plain = new HttpConnectionFactory(http);
        ServerConnector connector;
        if (settings.tls() == null) {
            connector = new ServerConnector(server, 1, 1, plain);
        } else {
            // Names are compared with the configured ones, not with the certificate's.
            http.addCustomizer(new SecureRequestCustomizer(false));
            SslContextFactory.Server tls = new SslContextFactory.Server();
            tls.setSslContext(settings.tls());
            tls.setIncludeProtocols("TLSv1.3", "TLSv1.2");
            tls.setNeedClientAuth(settings.clientCertificates());
            connector = new ServerConnector(server, 1, 1, new SslConnectionFactory(tls, plain.getProtocol()), plain);
        }
        connector.setHost(settings.host());
        connector.setPort(settings.port());
        connector.setAcceptQueueSize(BACKLOG);
        return connector;
    }

    private static ResourceConfig resources(RestSettings settings, ControllerService service) {
        ResourceConfig resources = ResourceConfig.forApplication(new SlotwiseApplication(service));
        if (settings.page()) {
            PageResource.singletons(PageHeaders.Frames.NONE).forEach(resources::register);
        }
        return resources
                .property(ServerProperties.WADL_FEATURE_DISABLE, true)
                // Without this Jersey would hand errors to the HTTP server, whose answer is another one.
                .property(ServerProperties.RESPONSE_SET_STATUS_OVER_SEND_ERROR, true);
    }

    private static PrometheusRegistry metrics(ControllerService service) {
        PrometheusRegistry metrics = new PrometheusRegistry();
        metrics.register(new Metrics(service));
        JvmMetrics.builder().register(metrics);
        return metrics;
    }

    /** Where the live page is, to be opened with {@code ?token=} and the token; empty if it is not served. */
    Optional<String> pageUrl() {
        return settings.page() ? Optional.of(url() + PageResource.PATH) : Optional.empty();
    }

    /** Where it listens. */
    String url() {
        String host = settings.host();
        String shown = host.contains(":") ? "[" + host + "]" : host;
        return (settings.tls() == null ? "http://" : "https://") + shown + ":" + connector.getLocalPort();
    }

    /** How many callers are connected. */
    int connections() {
        return connections.count();
    }

    @Override
    public void close() {
        stop(server);
    }

    private static void stop(Server server) {
        try {
            server.stop();
        } catch (Exception e) {
            LOG.warn("REST server shutdown failed", e);
        }
    }
}

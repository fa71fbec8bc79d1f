// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.prometheus.metrics.exporter.httpserver.MetricsHandler;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.net.ssl.SSLParameters;
import org.glassfish.jersey.jdkhttp.JdkHttpHandlerContainer;
import org.glassfish.jersey.server.ContainerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.SlotwiseApplication;

/** Serves the REST resources, and metrics at {@code /metrics}, over HTTP or HTTPS. */
final class RestServer implements AutoCloseable {
    /** Jersey warns of every resource that is given as an object; kept here, or the setting would be collected. */
    private static final Logger JERSEY_LOG = Logger.getLogger("org.glassfish.jersey");
    private static final int THREADS = 2;
    private static final int STOP_DELAY_S = 0;
    private static final long DRAIN_TIMEOUT_MS = 2000;
    private static final long STOP_TIMEOUT_S = 1;

    private final HttpServer server;
    private final ExecutorService threads;
    private final AccessFilter access;
    private final RestSettings settings;

    private RestServer(HttpServer server, ExecutorService threads, AccessFilter access, RestSettings settings) {
        this.server = server;
        this.threads = threads;
        this.access = access;
        this.settings = settings;
    }

    /** Starts to serve; port 0 takes any free port. Fails with the address if it is taken. */
    static RestServer start(RestSettings settings, ControllerService service, AuditLog audit) throws IOException {
        // The built-in server waits for slow clients for ever unless told otherwise, in seconds.
        System.setProperty("sun.net.httpserver.maxReqTime", "10");
        System.setProperty("sun.net.httpserver.maxRspTime", "10");
        // Small answers need not wait for the client to acknowledge their head.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        JERSEY_LOG.setLevel(Level.SEVERE);
        HttpServer server;
        try {
            server = create(settings);
        } catch (BindException e) {
            throw new IOException("rest: cannot listen on " + settings.host() + ":" + settings.port() + ": "
                    + e.getMessage(), e);
        }
        ResourceConfig application = ResourceConfig.forApplication(new SlotwiseApplication(service))
                .property(ServerProperties.WADL_FEATURE_DISABLE, true)
                // Without this Jersey would hand errors to the HTTP server, whose answer is an HTML page.
                .property(ServerProperties.RESPONSE_SET_STATUS_OVER_SEND_ERROR, true);
        AccessFilter access = new AccessFilter(
                settings.token(), new RateLimit(settings.requestsPerSecond(), System::nanoTime), audit);
        PrometheusRegistry metrics = new PrometheusRegistry();
        metrics.register(new Metrics(service));
        JvmMetrics.builder().register(metrics);
        server.createContext("/", ContainerFactory.createContainer(JdkHttpHandlerContainer.class, application))
                .getFilters().add(access);
        server.createContext("/metrics", new MetricsHandler(metrics)).getFilters().add(access);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS, task -> new Thread(task, "rest"));
        server.setExecutor(threads);
        server.start();
        return new RestServer(server, threads, access, settings);
    }

    private static HttpServer create(RestSettings settings) throws IOException {
        InetSocketAddress address = new InetSocketAddress(settings.host(), settings.port());
        if (settings.tls() == null) {
            return HttpServer.create(address, 0);
        }
        HttpsServer server = HttpsServer.create(address, 0);
        server.setHttpsConfigurator(new HttpsConfigurator(settings.tls()) {
            @Override
            public void configure(HttpsParameters parameters) {
                SSLParameters ssl = getSSLContext().getDefaultSSLParameters();
                ssl.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
                ssl.setNeedClientAuth(settings.clientCertificates());
                parameters.setSSLParameters(ssl);
            }
        });
        return server;
    }

    /** Where it listens. */
    String url() {
        String host = settings.host();
        String shown = host.contains(":") ? "[" + host + "]" : host;
        return (settings.tls() == null ? "http://" : "https://") + shown + ":" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        try {
            access.drain(DRAIN_TIMEOUT_MS);
            server.stop(STOP_DELAY_S);
            threads.shutdownNow();
            threads.awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

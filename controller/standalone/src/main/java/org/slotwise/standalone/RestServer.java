// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.glassfish.jersey.jdkhttp.JdkHttpHandlerContainer;
import org.glassfish.jersey.server.ContainerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.SlotwiseApplication;

/** Serves the REST resources over HTTP. */
final class RestServer implements AutoCloseable {
    /** Jersey warns of every resource that is given as an object; kept here, or the setting would be collected. */
    private static final Logger JERSEY_LOG = Logger.getLogger("org.glassfish.jersey");
    private static final int THREADS = 2;
    private static final int STOP_DELAY_S = 0;
    private static final long STOP_TIMEOUT_S = 1;

    private final HttpServer server;
    private final ExecutorService threads;
    private final String host;

    private RestServer(HttpServer server, ExecutorService threads, String host) {
        this.server = server;
        this.threads = threads;
        this.host = host;
    }

    /** Starts to serve; port 0 takes any free port. Fails with the address if it is taken. */
    static RestServer start(String host, int port, ControllerService service) throws IOException {
        // The built-in server waits for slow clients for ever unless told otherwise, in seconds.
        System.setProperty("sun.net.httpserver.maxReqTime", "10");
        System.setProperty("sun.net.httpserver.maxRspTime", "10");
        JERSEY_LOG.setLevel(Level.SEVERE);
        HttpServer server;
        try {
            server = HttpServer.create(new InetSocketAddress(host, port), 0);
        } catch (BindException e) {
            throw new IOException("rest: cannot listen on " + host + ":" + port + ": " + e.getMessage(), e);
        }
        ResourceConfig application = ResourceConfig.forApplication(new SlotwiseApplication(service))
                .property(ServerProperties.WADL_FEATURE_DISABLE, true)
                // Without this Jersey would hand errors to the HTTP server, whose answer is an HTML page.
                .property(ServerProperties.RESPONSE_SET_STATUS_OVER_SEND_ERROR, true);
        server.createContext("/", ContainerFactory.createContainer(JdkHttpHandlerContainer.class, application));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS, task -> new Thread(task, "rest"));
        server.setExecutor(threads);
        server.start();
        return new RestServer(server, threads, host);
    }

    /** Where it listens. */
    String url() {
        String shown = host.contains(":") ? "[" + host + "]" : host;
        return "http://" + shown + ":" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(STOP_DELAY_S);
        threads.shutdownNow();
        try {
            threads.awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

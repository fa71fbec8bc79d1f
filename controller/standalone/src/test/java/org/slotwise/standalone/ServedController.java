// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import org.slotwise.rest.ControllerService;

/** A {@link RunningController} behind a REST server, whose audit log is in a directory of the test. */
final class ServedController implements AutoCloseable {
    /** No caller is too slow. */
    static final Connections.Limits PATIENT = new Connections.Limits(600_000, 600_000, 600_000);
    /** More than any test asks. */
    private static final int MANY_REQUESTS = 100_000;

    private final RunningController controller = new RunningController();
    private final AuditLog audit;
    private RestServer server;

    ServedController(Path directory) throws IOException {
        this(directory, Clock.systemUTC(), AuditLog.MAX_BYTES);
    }

    ServedController(Path directory, Clock clock, long maxAuditBytes) throws IOException {
        this.audit = new AuditLog(directory, clock, maxAuditBytes);
    }

    /** As they would be configured: any free port, and what is given besides. */
    static ObjectNode settings() {
        return JsonNodeFactory.instance.objectNode().put("port", 0);
    }

    /** Without a limit that quick tests could reach. */
    static ObjectNode manyRequests() {
        return settings().put("requests_per_second", MANY_REQUESTS);
    }

    /** Serves the controller. */
    void start(ObjectNode settings, Connections.Limits limits) throws Exception {
        serve(settings, controller, limits);
    }

    /** Serves another one in its place. */
    void serve(ObjectNode settings, ControllerService service, Connections.Limits limits) throws Exception {
        if (server != null) {
            server.close();
        }
        server = RestServer.start(RestSettings.decode("rest", settings), service, audit, limits);
    }

    RunningController controller() {
        return controller;
    }

    AuditLog audit() {
        return audit;
    }

    String url() {
        return server.url();
    }

    /** Until the server has begun with so many callers: its threads begin with them in any order. */
    @SuppressWarnings("ThreadPriorityCheck") // Yields while threads of the server start; nothing tells when they have.
    void awaitConnections(int callers) throws InterruptedException {
        while (server.connections() < callers) {
            if (Thread.interrupted()) {
                throw new InterruptedException(server.connections() + " callers of " + callers);
            }
            Thread.yield();
        }
    }

    /** The audit log is whole then. */
    @Override
    public void close() {
        if (server != null) {
            server.close();
        }
        audit.close();
    }
}

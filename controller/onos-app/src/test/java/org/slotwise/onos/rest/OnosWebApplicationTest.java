// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.glassfish.jersey.internal.MapPropertiesDelegate;
import org.glassfish.jersey.server.ApplicationHandler;
import org.glassfish.jersey.server.ContainerRequest;
import org.glassfish.jersey.server.ContainerResponse;
import org.glassfish.jersey.server.ResourceConfig;
import org.junit.jupiter.api.Test;
import org.onlab.osgi.ServiceDirectory;
import org.onlab.osgi.ServiceNotFoundException;
import org.slotwise.rest.system.Change;
import org.slotwise.rest.system.SystemHost;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.Event;
import org.slotwise.onos.RemoteLeader;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.StarController;
import org.slotwise.systems.star.rest.StarParts;
import org.slotwise.systems.star.schedule.Kinds;

/** The resources as ONOS's servlet container calls them, on the versions of Jersey and Jackson that ONOS has. */
class OnosWebApplicationTest {
    private static final URI BASE = URI.create("http://localhost:8181/onos/slotwise/");

    private final List<SchedulerChosen> choices = new ArrayList<>();
    private boolean active = true;
    private Optional<String> leader = Optional.empty();
    private ContainerResponse answered;
    private final ApplicationHandler handler = new ApplicationHandler(
            ResourceConfig.forApplication(new OnosWebApplication(new Directory())));

    private final class Directory implements ServiceDirectory {
        @Override
        public <T> T get(Class<T> type) {
            if (!active) {
                throw new ServiceNotFoundException("no such service");
            }
            return type.cast(type == RemoteLeader.class ? (RemoteLeader) () -> leader : new FixedController());
        }
    }

    private final class FixedController implements ControllerService, SystemHost {
        @Override
        public List<SystemResources<?>> apps() {
            return List.of(new SystemResources<>(StarParts.of(Networks.star(4, 20), Networks.scheduler(Kinds.FAIR)), this));
        }

        @Override
        @SuppressWarnings("unchecked")
        public <V> V view(SystemPart<V> system) {
            return (V) new StarController(Networks.star(4, 20), Networks.scheduler(Kinds.FAIR), () -> 0).snapshot();
        }

        @Override
        public boolean isCluster() {
            return true;
        }

        @Override
        public void order(SystemPart<?> system, Event.Order order) {
            throw new AssertionError("nobody orders anything that is not kept");
        }

        @Override
        public <V> void change(SystemPart<V> system, Change<V> change) {
            choices.add((SchedulerChosen) change.order());
        }
    }

    private String call(int status, String method, String path, String body) throws Exception {
        return call(status, method, path, body, Map.of());
    }

    private String call(int status, String method, String path, String body, Map<String, String> headers) throws Exception {
        ContainerRequest request = new ContainerRequest(
                BASE, BASE.resolve(path), method, null, new MapPropertiesDelegate(new HashMap<>()));
        request.header("Content-Type", "application/json");
        headers.forEach(request::header);
        request.setEntityStream(new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)));
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        answered = handler.apply(request, answer).get();
        assertEquals(status, answered.getStatus(), answer::toString);
        return answer.toString(StandardCharsets.UTF_8);
    }

    private String header(String name) {
        return answered.getHeaderString(name);
    }

    @Test
    void theResourcesAreBelowTheContextPath() throws Exception {
        assertTrue(call(200, "GET", "v1/star/status", "").contains("waiting_for_devices")
                || call(200, "GET", "v1/star/status", "").contains("WAITING_FOR_DEVICES"));
        for (String path : List.of("topology", "nodes", "demand", "schedule", "statistics", "scheduler")) {
            assertTrue(call(200, "GET", "v1/star/" + path, "").startsWith("{"), path);
        }
    }

    @Test
    void theDocumentIsReadWithOnosLibraries() throws Exception {
        assertTrue(call(200, "GET", "v1/openapi.json", "").contains("/slotwise/v1/star/scheduler"));
        assertTrue(call(200, "GET", "v1/openapi.yaml", "").startsWith("#"));
    }

    @Test
    void aSchedulerIsChosenAndABadOneRefused() throws Exception {
        call(200, "PUT", "v1/star/scheduler", "{\"name\": \"islip\"}");
        assertEquals("islip", choices.get(0).kind().title());
        String refused = call(422, "PUT", "v1/star/scheduler", "{\"name\": \"best\"}");
        assertTrue(refused.contains("best"), refused);
        call(400, "PUT", "v1/star/scheduler", "{");
        assertEquals(1, choices.size());
    }

    @Test
    void whatOneControllerOfSeveralCannotDoIsNotImplemented() throws Exception {
        call(405, "PUT", "v1/star/shutdown", "{\"core\": 0, \"shut_down\": true}");
        assertEquals("GET, HEAD, OPTIONS", new TreeSet<>(List.of(header("Allow").split(", *"))).stream().collect(Collectors.joining(", ")));
        call(501, "PUT", "v1/star/shutdown/0", "{\"shut_down\": true}");
        assertTrue(call(200, "GET", "v1/star", "").contains("{\"name\":\"shutdown\",\"can_change\":false}"));
    }

    @Test
    void entityTagsAreConditionsOfChanges() throws Exception {
        call(200, "GET", "v1/star/scheduler", "");
        String tag = header("ETag");
        call(304, "GET", "v1/star/scheduler", "", Map.of("If-None-Match", tag));
        assertTrue(call(412, "PUT", "v1/star/scheduler", "{\"name\": \"islip\"}", Map.of("If-Match", "\"x\"")).contains("If-Match with the ETag"));
        assertTrue(call(400, "PUT", "v1/star/scheduler", "{\"name\": \"islip\"}", Map.of("If-Match", "x")).contains("malformed"));
        assertTrue(choices.isEmpty());
        call(200, "PUT", "v1/star/scheduler", "{\"name\": \"islip\"}", Map.of("If-Match", tag));
    }

    @Test
    void matrixParametersAreRejected() throws Exception {
        assertTrue(call(400, "GET", "v1/star/status;x=1", "").contains("matrix parameter"));
        call(404, "GET", "v1/star/status%3Bx=1", "");
    }

    @Test
    void errorsAreProblemDocuments() throws Exception {
        assertTrue(call(404, "GET", "v1/nothing", "").contains("\"status\":404"));
        assertTrue(call(404, "GET", "", "").contains("\"status\":404"));
        active = false;
        assertTrue(call(503, "GET", "v1/star/status", "").contains("not active"));
    }

    @Test
    void aNodeThatDoesNotLeadSendsCallersToTheLeader() throws Exception {
        leader = Optional.of("192.0.2.7");
        assertTrue(call(307, "GET", "v1/star/status?x=1", "").contains("192.0.2.7"));
        assertEquals("http://192.0.2.7:8181/onos/slotwise/v1/star/status?x=1", header("Location"));
        call(307, "PUT", "v1/star/scheduler", "{\"name\": \"islip\"}");
        assertTrue(choices.isEmpty());
        leader = Optional.of("[2001:db8::7]");
        call(307, "GET", "v1/star/nodes", "");
        assertEquals("http://[2001:db8::7]:8181/onos/slotwise/v1/star/nodes", header("Location"));
        assertTrue(call(200, "GET", "v1/openapi.json", "").contains("/slotwise/v1/star/scheduler"));
    }

    // ---- the live page ----

    private void assertMayBeInFramesOfOnosOnly() {
        String policy = header("Content-Security-Policy");
        assertTrue(policy.startsWith("default-src 'none'; ") && policy.endsWith("; frame-ancestors 'self'"), policy);
        assertEquals("nosniff", header("X-Content-Type-Options"));
        assertEquals("no-store", header("Cache-Control"));
    }

    @Test
    void thePageIsBesideTheResources() throws Exception {
        assertTrue(call(200, "GET", "page/", "").contains("content=\"poll\""));
        assertMayBeInFramesOfOnosOnly();
        assertFalse(call(200, "GET", "page/assets/page.js", "").isEmpty());
        assertMayBeInFramesOfOnosOnly();
        assertEquals("text/javascript;charset=utf-8", header("Content-Type").replace(" ", ""));
        call(200, "GET", "v1/star/status", "");
        assertNull(header("Content-Security-Policy"));
    }

    /** The page finds its files and the resources beside its address, so that must end with a slash. */
    @Test
    void thePageWithoutItsSlashIsSentToTheOneWith() throws Exception {
        call(307, "GET", "page", "");
        assertEquals("http://localhost:8181/onos/slotwise/page/", header("Location"));
        assertMayBeInFramesOfOnosOnly();
    }

    @Test
    void problemsOfThePageAreGuardedAsItIs() throws Exception {
        call(404, "GET", "page/assets/other.js", "");
        assertMayBeInFramesOfOnosOnly();
        call(404, "GET", "page/other", "");
        assertMayBeInFramesOfOnosOnly();
        call(405, "PUT", "page/", "{}");
        assertMayBeInFramesOfOnosOnly();
    }

    /** A browser gets the files of the page that it has, and goes with the page itself. */
    @Test
    void aNodeThatDoesNotLeadSendsThePageToTheLeaderAndServesItsFiles() throws Exception {
        leader = Optional.of("192.0.2.7");
        call(307, "GET", "page/?view=star", "");
        assertEquals("http://192.0.2.7:8181/onos/slotwise/page/?view=star", header("Location"));
        assertMayBeInFramesOfOnosOnly();
        call(200, "GET", "page/assets/page.css", "");
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.rest;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.ws.rs.core.Application;
import org.glassfish.jersey.server.ServerProperties;
import org.onlab.osgi.DefaultServiceDirectory;
import org.onlab.osgi.ServiceDirectory;
import org.onlab.osgi.ServiceNotFoundException;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.onos.RemoteLeader;
import org.slotwise.page.PageHeaders;
import org.slotwise.page.PageResource;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.SlotwiseApplication;

/**
 * The REST resources in ONOS, at {@code /onos/slotwise/v1}, and the live page, at {@code /onos/slotwise/page/}; ONOS asks for its own
 * users' names and passwords.
 */
public final class OnosWebApplication extends Application {
    private final Set<Object> singletons = new HashSet<>();
    private final ServiceDirectory directory;

    /** What the servlet container calls. */
    public OnosWebApplication() {
        this(new DefaultServiceDirectory());
    }

    OnosWebApplication(ServiceDirectory directory) {
        this.directory = directory;
        ControllerService controller = new CurrentController(directory);
        singletons.addAll(new SlotwiseApplication(controller).getSingletons());
        // ONOS's own web interface may show the page in a frame.
        singletons.addAll(PageResource.singletons(PageHeaders.Frames.SAME_SERVER));
        singletons.add(new ContextPathFilter(new LeaderRedirect(this::remoteLeader)));
    }

    @Override
    public Set<Object> getSingletons() {
        return Set.copyOf(singletons);
    }

    private Optional<String> remoteLeader() {
        try {
            return directory.get(RemoteLeader.class).address();
        } catch (ServiceNotFoundException e) {
            return Optional.empty();
        }
    }

    @Override
    public Map<String, Object> getProperties() {
        return Map.of(ServerProperties.WADL_FEATURE_DISABLE, true,
                // Without this the container would answer errors with a page of its own.
                ServerProperties.RESPONSE_SET_STATUS_OVER_SEND_ERROR, true);
    }

    /** The component, which can come and go while the web application stays. */
    private static final class CurrentController implements ControllerService {
        private final ServiceDirectory directory;

        CurrentController(ServiceDirectory directory) {
            this.directory = directory;
        }

        @Override
        public List<SystemResources<?>> apps() {
            return now().apps();
        }

        private ControllerService now() {
            try {
                return directory.get(ControllerService.class);
            } catch (ServiceNotFoundException e) {
                throw new UnavailableException("the app is not active", e);
            }
        }
    }
}

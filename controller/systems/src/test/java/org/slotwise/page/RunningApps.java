// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.slotwise.rest.system.Change;
import org.slotwise.rest.system.HostedSystems;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemHost;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.Systems;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.rest.StarPart;
import org.slotwise.wire.WireConstants;

/** All applications of a network, with switches that obey at once, behind the service of the resources, for any thread. Nothing is kept. */
public final class RunningApps implements ControllerService, SystemHost {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path EXAMPLES = Path.of("../../schema/examples");
    /** Examples of systems that are not named after the system. */
    private static final Map<String, String> NAMES = Map.of("star", "star4", "routes", "routers");

    private final NetworkDocument network;
    private final HostedSystems systems;
    private final Map<DeviceId, Long> versions = new HashMap<>();

    RunningApps(JsonNode document) throws InvalidJsonException {
        network = NetworkDocument.decode("", document, Systems.all());
        systems = new HostedSystems(network, id -> AppState.none());
    }

    /** Files with one example network per system. */
    public static List<String> examples() {
        return Systems.all().all().keySet().stream().map(id -> "network-" + NAMES.getOrDefault(id, id) + ".json").collect(Collectors.toList());
    }

    /** A network of {@code schema/examples}. */
    public static JsonNode example(String file) throws IOException {
        return JSON.readTree(EXAMPLES.resolve(file).toFile());
    }

    /** Of one of these, with all switches there. */
    public static RunningApps of(String file) throws IOException, InvalidJsonException {
        return new RunningApps(example(file)).withSwitches();
    }

    RunningApps withSwitches() {
        network.nodes().stream().map(Node::device).forEach(device -> deliver(new Event.DeviceReady(device, List.of())));
        return this;
    }

    /** Until a schedule for demand from edge 1 to edge 2 is in force. */
    public RunningApps withDemand() {
        Network star = ((StarPart) network.parts().get(StarApp.ID)).network();
        for (int frame = 1; frame <= 8; frame++) {
            long inForce = versions.getOrDefault(star.master().device(), 0L);
            for (Edge edge : star.edges()) {
                RequestMessage message = new RequestMessage(edge.id().value()).frame(frame).versions(inForce, inForce);
                if (edge.id().value() == 1) {
                    int queue = star.queue(star.edges().get(2));
                    message.backlog(queue, 400_000).arrived(queue, 10_000L * frame);
                }
                boolean isMaster = edge == star.master();
                int port = isMaster ? WireConstants.PORT_LINECARD : star.master().fibre().port();
                deliver(new Event.PacketIn(star.master().device(), port, message.encode()));
            }
        }
        return this;
    }

    synchronized void deliver(Event event) {
        obey(systems.host().onEvent(0, event));
    }

    private void obey(List<Command> commands) {
        for (Command command : commands) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else if (command instanceof Command.PacketOut) {
                versions.merge(((Command.PacketOut) command).device(), 1L, Long::sum);
            }
        }
    }

    @Override
    public synchronized List<SystemResources<?>> apps() {
        return systems.resources(this);
    }

    @Override
    public synchronized <V> V view(SystemPart<V> system) {
        return systems.app(system).view();
    }

    @Override
    public synchronized void order(SystemPart<?> system, Event.Order order) {
        obey(systems.host().onOrder(0, system.id(), order));
    }

    @Override
    public <V> void change(SystemPart<V> system, Change<V> change) {
        order(system, change.order());
    }
}

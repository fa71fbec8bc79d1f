// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.slotwise.rest.system.Ports;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.routes.model.Prefix;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.RouterPort;
import org.slotwise.systems.routes.model.Routing;
import org.slotwise.wire.Limits;

/** Routers in the form of {@code schema/network.schema.json}, and the views of what an application of routes shows. */
public final class RoutesCodec {
    static final String SHORTEST = "shortest-path";
    static final String STATIC = "static";
    private static final int MAX_PORT = 511;
    private final String where;

    private RoutesCodec(String where) {
        this.where = where;
    }

    /** Reads routers; {@code where} is their place in a larger document, or empty. */
    public static RoutedNetwork decode(String where, JsonNode value) throws InvalidJsonException {
        try {
            return new RoutesCodec(where).network(value);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(where, e);
        }
    }

    private RoutedNetwork network(JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "nodes", "routing", "xcp");
        List<Router> routers = fields.list("nodes", RoutesCodec::router);
        JsonFields xcp = JsonFields.of(fields.place("xcp"), fields.required("xcp"), "overhead_bytes");
        return new RoutedNetwork(routers, routing(fields.place("routing"), fields.required("routing")),
                (int) xcp.integer("overhead_bytes", 0, RoutedNetwork.MAX_OVERHEAD_BYTES));
    }

    private static Router router(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "name", "device_id", "mac", "ports");
        List<RouterPort> ports = fields.list("ports", RoutesCodec::port);
        return new Router(fields.name("name"), Ports.DEVICE.read(fields), fields.parsed("mac", MacAddress::parse), ports);
    }

    private static RouterPort port(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "port", "rate_bps", "delay_ns", "xcp_bps", "peer", "hosts");
        if (fields.optional("peer").isPresent() == fields.optional("hosts").isPresent()) {
            throw new InvalidJsonException(place, "expected either 'peer' or 'hosts'");
        }
        int number = number(fields);
        long rateBps = fields.integer("rate_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        long delayNs = fields.integer("delay_ns", Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
        OptionalLong xcpBps = fields.optionalInteger("xcp_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        return fields.optional("peer").isPresent()
                ? RouterPort.to(peer(fields.place("peer"), fields.required("peer")), number, rateBps, delayNs, xcpBps)
                : RouterPort.to(hosts(fields, number), number, rateBps, delayNs, xcpBps);
    }

    private static int number(JsonFields fields) throws InvalidJsonException {
        return (int) fields.integer("port", Limits.MIN_ROUTER_PORT, Limits.MAX_ROUTER_PORT);
    }

    private static RouterPort.Peer peer(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "device_id", "port", "mac", "beyond");
        List<Ipv4Address> beyond = new ArrayList<>();
        if (fields.optional("beyond").isPresent()) {
            for (JsonNode host : fields.array("beyond")) {
                JsonFields one = JsonFields.of(fields.place("beyond[" + beyond.size() + "]"), host, "name", "ip");
                if (one.optional("name").isPresent()) {
                    one.name("name");
                }
                beyond.add(one.parsed("ip", Ipv4Address::ofHost));
            }
        }
        return new RouterPort.Peer(Ports.DEVICE.read(fields), (int) fields.integer("port", 1, MAX_PORT),
                fields.parsed("mac", MacAddress::parse), beyond);
    }

    private static List<Host> hosts(JsonFields parent, int port) throws InvalidJsonException {
        List<Host> hosts = new ArrayList<>();
        for (JsonNode host : parent.array("hosts")) {
            JsonFields fields = JsonFields.of(parent.place("hosts[" + hosts.size() + "]"), host, "name", "ip", "mac");
            hosts.add(new Host(fields.name("name"), fields.parsed("ip", Ipv4Address::ofHost),
                    fields.parsed("mac", MacAddress::parse), port));
        }
        return hosts;
    }

    private static Routing routing(String place, JsonNode value) throws InvalidJsonException {
        String mode = JsonFields.open(place, value).text("mode");
        switch (mode) {
            case SHORTEST:
                return Routing.shortest(metric(JsonFields.of(place, value, "mode", "metric")));
            case STATIC:
                return Routing.fixed(routes(JsonFields.of(place, value, "mode", "routes")));
            default:
                throw new InvalidJsonException(place + ".mode", "expected shortest-path or static, got '" + mode + "'");
        }
    }

    private static Routing.Metric metric(JsonFields fields) throws InvalidJsonException {
        String metric = fields.text("metric");
        switch (metric) {
            case "delay":
                return Routing.Metric.DELAY;
            case "hops":
                return Routing.Metric.HOPS;
            default:
                throw new InvalidJsonException(fields.place("metric"), "expected delay or hops, got '" + metric + "'");
        }
    }

    private static List<Routing.Static> routes(JsonFields parent) throws InvalidJsonException {
        List<Routing.Static> routes = new ArrayList<>();
        for (JsonNode route : parent.array("routes")) {
            JsonFields fields = JsonFields.of(
                    parent.place("routes[" + routes.size() + "]"), route, "device_id", "prefix", "port");
            routes.add(new Routing.Static(Ports.DEVICE.read(fields), fields.parsed("prefix", Prefix::parse), number(fields)));
        }
        return routes;
    }
}

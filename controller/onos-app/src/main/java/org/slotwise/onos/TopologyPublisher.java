// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.onlab.packet.IpAddress;
import org.onlab.packet.MacAddress;
import org.onlab.packet.VlanId;
import org.onosproject.net.ConnectPoint;
import org.onosproject.net.DefaultAnnotations;
import org.onosproject.net.Host;
import org.onosproject.net.HostId;
import org.onosproject.net.HostLocation;
import org.onosproject.net.Link;
import org.onosproject.net.PortNumber;
import org.onosproject.net.host.DefaultHostDescription;
import org.onosproject.net.host.HostDescription;
import org.onosproject.net.host.HostProvider;
import org.onosproject.net.host.HostProviderRegistry;
import org.onosproject.net.host.HostProviderService;
import org.onosproject.net.link.DefaultLinkDescription;
import org.onosproject.net.link.LinkDescription;
import org.onosproject.net.link.LinkProvider;
import org.onosproject.net.link.LinkProviderRegistry;
import org.onosproject.net.link.LinkProviderService;
import org.onosproject.net.provider.AbstractProvider;
import org.onosproject.net.provider.ProviderId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.topology.Lane;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;

/** Shows ONOS's topology the links and hosts that the controller knows, so that its web page has the network. One thread calls it. */
final class TopologyPublisher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TopologyPublisher.class);
    private static final ProviderId ID = new ProviderId("slotwise", SlotwiseManager.APP_NAME);

    private final LinkProviderRegistry linkRegistry;
    private final HostProviderRegistry hostRegistry;
    private final Provider provider = new Provider();
    private final LinkProviderService links;
    private final HostProviderService hosts;
    private Set<LinkDescription> shownLinks = new LinkedHashSet<>();
    private Map<HostId, HostDescription> shownHosts = new LinkedHashMap<>();

    private static final class Provider extends AbstractProvider implements LinkProvider, HostProvider {
        Provider() {
            super(ID);
        }

        /** The controller knows where hosts are. */
        @Override
        public void triggerProbe(Host host) {
            LOG.debug("host {}: location unchanged", host.id());
        }
    }

    TopologyPublisher(LinkProviderRegistry linkRegistry, HostProviderRegistry hostRegistry) {
        this.linkRegistry = linkRegistry;
        this.hostRegistry = hostRegistry;
        this.links = linkRegistry.register(provider);
        try {
            this.hosts = hostRegistry.register(provider);
        } catch (RuntimeException e) {
            linkRegistry.unregister(provider);
            throw e;
        }
    }

    /** Shows a topology in the place of the one before. */
    void publish(Topology topology) {
        Set<LinkDescription> nextLinks = new LinkedHashSet<>();
        topology.links().forEach(link -> {
            nextLinks.add(describe(link.there()));
            nextLinks.add(describe(link.back()));
        });
        Map<HostId, HostDescription> nextHosts = new LinkedHashMap<>();
        topology.nodes().forEach(node -> addHosts(topology, node, nextHosts));
        shownLinks.stream().filter(link -> !nextLinks.contains(link)).forEach(links::linkVanished);
        shownHosts.keySet().stream().filter(host -> !nextHosts.containsKey(host)).forEach(hosts::hostVanished);
        nextLinks.forEach(links::linkDetected);
        nextHosts.forEach((id, host) -> hosts.hostDetected(id, host, true));
        shownLinks = nextLinks;
        shownHosts = nextHosts;
    }

    /** Takes away what it has shown. */
    void withdraw() {
        publish(new Topology.Builder().build());
    }

    /** Leaves what it has shown as it is, to whoever shows from now on: ONOS has one topology for all nodes. */
    void leave() {
        shownLinks = new LinkedHashSet<>();
        shownHosts = new LinkedHashMap<>();
    }

    private static LinkDescription describe(Lane lane) {
        return new DefaultLinkDescription(
                new ConnectPoint(SlotwiseDevices.onos(lane.from()), PortNumber.portNumber(lane.fromPort())),
                new ConnectPoint(SlotwiseDevices.onos(lane.to()), PortNumber.portNumber(lane.toPort())),
                Link.Type.DIRECT, DefaultLinkDescription.EXPECTED, DefaultAnnotations.builder()
                        .set("bandwidth", Long.toString(lane.rateBps() / 1_000_000))
                        .set("latency", Long.toString(lane.delayNs())).build());
    }

    /** A host is an address on a port; several with one Ethernet address, as behind a router of others, are one. */
    private static void addHosts(Topology topology, Node node, Map<HostId, HostDescription> hosts) {
        Map<HostId, Set<IpAddress>> addresses = new HashMap<>();
        topology.hostsOf(node.device()).forEach(host -> {
            MacAddress mac = MacAddress.valueOf(host.mac().value());
            HostId id = HostId.hostId(mac);
            Set<IpAddress> own = addresses.computeIfAbsent(id, any -> new HashSet<>());
            own.add(IpAddress.valueOf(host.ip().toString()));
            HostLocation location = new HostLocation(
                    SlotwiseDevices.onos(node.device()), PortNumber.portNumber(host.port()), 0);
            hosts.put(id, new DefaultHostDescription(mac, VlanId.NONE, location, Set.copyOf(own), true,
                    DefaultAnnotations.builder().set("name", host.name()).build()));
        });
    }

    /** Takes away what it has shown; nothing is any more. */
    @Override
    public void close() {
        try {
            withdraw();
        } finally {
            linkRegistry.unregister(provider);
            hostRegistry.unregister(provider);
        }
    }
}

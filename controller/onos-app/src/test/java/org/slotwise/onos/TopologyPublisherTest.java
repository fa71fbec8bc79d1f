// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.onosproject.net.HostId;
import org.onosproject.net.HostLocation;
import org.onosproject.net.host.HostDescription;
import org.onosproject.net.host.HostProvider;
import org.onosproject.net.host.HostProviderRegistry;
import org.onosproject.net.host.HostProviderService;
import org.onosproject.net.link.LinkDescription;
import org.onosproject.net.link.LinkProvider;
import org.onosproject.net.link.LinkProviderRegistryAdapter;
import org.onosproject.net.link.LinkProviderService;
import org.onosproject.net.link.LinkProviderServiceAdapter;
import org.onosproject.net.provider.AbstractProviderService;
import org.onosproject.net.provider.ProviderId;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.model.RoutedNetworks;
import org.slotwise.systems.routes.model.Routing;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.StarTopology;

class TopologyPublisherTest {
    private final Set<String> links = new TreeSet<>();
    private final Map<String, String> hosts = new TreeMap<>();
    private int registered;

    private final class Links extends LinkProviderRegistryAdapter {
        @Override
        public LinkProviderService register(LinkProvider provider) {
            registered++;
            return new LinkProviderServiceAdapter(provider) {
                @Override
                public void linkDetected(LinkDescription link) {
                    links.add(link.src() + " > " + link.dst());
                }

                @Override
                public void linkVanished(LinkDescription link) {
                    assertTrue(links.remove(link.src() + " > " + link.dst()), "it was never there");
                }
            };
        }

        @Override
        public void unregister(LinkProvider provider) {
            registered--;
        }
    }

    private final class HostSink extends AbstractProviderService<HostProvider> implements HostProviderService {
        HostSink(HostProvider provider) {
            super(provider);
        }

        @Override
        public void hostDetected(HostId id, HostDescription host, boolean replaceIps) {
            hosts.put(id.toString(), host.location() + " " + host.ipAddress());
        }

        @Override
        public void hostVanished(HostId id) {
            hosts.remove(id.toString());
        }

        @Override
        public void removeIpFromHost(HostId id, org.onlab.packet.IpAddress address) {
            throw new AssertionError("hosts are replaced");
        }

        @Override
        public void removeLocationFromHost(HostId id, HostLocation location) {
            throw new AssertionError("hosts are replaced");
        }
    }

    private final class Hosts implements HostProviderRegistry {
        @Override
        public HostProviderService register(HostProvider provider) {
            registered++;
            return new HostSink(provider);
        }

        @Override
        public void unregister(HostProvider provider) {
            registered--;
        }

        @Override
        public Set<ProviderId> getProviders() {
            return Set.of();
        }
    }

    @Test
    void onosSeesLinksBothWaysAndHostsAndWhatIsGoneGoes() {
        TopologyPublisher publisher = new TopologyPublisher(new Links(), new Hosts());
        publisher.publish(StarTopology.of(Networks.star(4, 20)));
        assertEquals(8, links.size());
        assertTrue(links.contains("device:slotwise:3/256 > device:slotwise:1001/258"), links::toString);
        int starHosts = hosts.size();
        assertTrue(starHosts > 0);
        publisher.publish(new RoutesApp(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.HOPS))).topology());
        assertEquals(6, links.size());
        assertEquals(List.of("02:00:02:00:00:00/None", "02:00:02:00:00:01/None", "02:00:02:00:00:02/None"), List.copyOf(hosts.keySet()));
        assertEquals("device:slotwise:2001/3 [10.1.0.1]", hosts.get("02:00:02:00:00:00/None"));
        publisher.close();
        assertEquals(Set.of(), links);
        assertEquals(Map.of(), hosts);
        assertEquals(0, registered);
    }

    @Test
    void whoLedOnceTakesNothingAwayFromWhoLeadsNow() {
        TopologyPublisher former = new TopologyPublisher(new Links(), new Hosts());
        former.publish(StarTopology.of(Networks.star(4, 20)));
        former.leave();
        TopologyPublisher leader = new TopologyPublisher(new Links(), new Hosts());
        leader.publish(StarTopology.of(Networks.star(4, 20)));
        former.close();
        assertEquals(8, links.size());
        leader.withdraw();
        assertEquals(Set.of(), links);
        assertEquals(Map.of(), hosts);
    }
}

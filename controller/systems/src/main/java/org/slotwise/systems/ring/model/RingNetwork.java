// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.Lane;
import org.slotwise.control.topology.Link;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Ranges;
import org.slotwise.control.topology.Topology;
import org.slotwise.wire.Limits;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/** A dual ring of stations, or half of one, in which one link is left out. Immutable and valid. */
public final class RingNetwork {
    /** Name of the program of a station. */
    public static final String PROGRAM = "ring";
    private static final long NS_PER_S = 1_000_000_000L;
    private static final long WINDOW_BYTES = 1L << 32;

    private final String name;
    private final RingMode mode;
    private final double threshold;
    private final double relief;
    private final RingTiming timing;
    private final List<Station> stations;
    private final Map<Integer, RingLink> links = new TreeMap<>();
    private final Map<DeviceId, Integer> numbers = new LinkedHashMap<>();

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if the parts do not fit together.
     *
     * @param threshold part of a link's capacity above which it is congested, above 0, at most 1
     * @param relief what is taken off the threshold where congestion ends; above 0 and below the threshold
     * @param stations in the order of ringlet 0
     * @param links one from each station to the next one; one may be left out
     */
    public RingNetwork(String name, RingMode mode, double threshold, double relief, RingTiming timing, List<Station> stations,
            List<RingLink> links) {
        this.name = Objects.requireNonNull(name);
        this.mode = Objects.requireNonNull(mode);
        this.threshold = threshold;
        this.relief = relief;
        this.timing = Objects.requireNonNull(timing);
        this.stations = List.copyOf(stations);
        if (!(threshold > 0 && threshold <= 1)) {
            throw new InvalidNetworkException("threshold", "expected a value above 0 and at most 1, got " + threshold);
        }
        if (!(relief > 0 && relief < threshold)) {
            throw new InvalidNetworkException("relief", "expected a value above 0 and below the threshold, got " + relief);
        }
        checkStations();
        checkLinks(links);
    }

    private void checkStations() {
        Ranges.check("stations", stations.size(), Limits.MIN_RING_STATIONS, Limits.MAX_RING_STATIONS);
        Set<Ipv4Address> hosts = new HashSet<>();
        Set<String> names = new HashSet<>();
        for (int i = 0; i < stations.size(); i++) {
            Station station = stations.get(i);
            String where = "stations[" + i + "]";
            if (numbers.put(station.device(), i) != null) {
                throw new InvalidNetworkException(where + ".device_id", "duplicate " + station.device());
            }
            if (!names.add(station.name())) {
                throw new InvalidNetworkException(where + ".name", "duplicate '" + station.name() + "'");
            }
            Ranges.check(where + ".weight", station.weight(), Limits.MIN_RING_WEIGHT, Limits.MAX_RING_WEIGHT);
            Ranges.check(where + ".hosts", station.hosts().size(), Limits.MIN_ROUTES, Limits.MAX_ROUTES);
            for (int h = 0; h < station.hosts().size(); h++) {
                Host host = station.hosts().get(h);
                String place = where + ".hosts[" + h + "]";
                Ranges.check(place + ".port", host.port(), Limits.MIN_RING_PORT, Limits.MAX_RING_PORT);
                if (!hosts.add(host.ip())) {
                    throw new InvalidNetworkException(place + ".ip", "duplicate " + host.ip());
                }
            }
            TrafficRule.check(where + ".classes", station.rules(), station.hostPorts());
        }
        if (hosts.size() > Limits.MAX_ROUTES) {
            throw new InvalidNetworkException("stations", "expected at most " + Limits.MAX_ROUTES + " hosts, got " + hosts.size());
        }
    }

    private void checkLinks(List<RingLink> given) {
        for (int i = 0; i < given.size(); i++) {
            RingLink link = given.get(i);
            String where = "links[" + i + "]";
            Ranges.check(where + ".from", link.from(), 0, stations.size() - 1L);
            Ranges.check(where + ".rate_bps", link.rateBps(), Limits.MIN_RING_RATE_BPS, Limits.MAX_RING_RATE_BPS);
            Ranges.check(where + ".delay_ns", link.delayNs(), Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
            if ((double) link.capacity() * timing.windowNs() / NS_PER_S >= WINDOW_BYTES) {
                throw new InvalidNetworkException(where + ".rate_bps", "expected less than 2^32 bytes per window of " + timing.windowNs()
                        + " ns, got " + link.rateBps() + " bit/s");
            }
            if (links.put(link.from(), link) != null) {
                throw new InvalidNetworkException(where, "duplicate link from '" + stations.get(link.from()).name() + "'");
            }
        }
        if (links.size() < stations.size() - 1) {
            throw new InvalidNetworkException("links", "expected " + (stations.size() - 1) + " or " + stations.size()
                    + " links for " + stations.size() + " stations, got " + links.size());
        }
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** How fairness is told to begin with. */
    public RingMode mode() {
        return mode;
    }

    /** Part of a link's capacity above which it is congested. */
    public double threshold() {
        return threshold;
    }

    /** Byte/s above which a link is congested. */
    public long target(RingLink link) {
        return Math.round(threshold * link.capacity());
    }

    /** Byte/s below which a link's congestion ends. */
    public long relief(RingLink link) {
        return Math.round((threshold - relief) * link.capacity());
    }

    /** Timing. */
    public RingTiming timing() {
        return timing;
    }

    /** The stations, in the order of ringlet 0. */
    public List<Station> stations() {
        return stations;
    }

    /** Number of a station. */
    public Optional<Integer> number(DeviceId device) {
        return Optional.ofNullable(numbers.get(device));
    }

    /** Devices of all stations, in order. */
    public Set<DeviceId> devices() {
        return Collections.unmodifiableSet(numbers.keySet());
    }

    /** The links, by the station before them along ringlet 0. */
    public Map<Integer, RingLink> links() {
        return Collections.unmodifiableMap(links);
    }

    /** The link by which a ringlet leaves a station. */
    public Optional<RingLink> linkOut(int station, int ringlet) {
        return Optional.ofNullable(links.get(ringlet == 0 ? station : previous(station)));
    }

    /** Ports of a station that links of the ring are at, ascending. */
    public SortedSet<Integer> ringPorts(int station) {
        SortedSet<Integer> ports = new TreeSet<>();
        linkOut(station, 0).ifPresent(east -> ports.add(WireConstants.PORT_RING_EAST));
        linkOut(station, 1).ifPresent(west -> ports.add(WireConstants.PORT_RING_WEST));
        return ports;
    }

    /** The station after one along a ringlet. */
    public int downstream(int station, int ringlet) {
        return ringlet == 0 ? next(station) : previous(station);
    }

    /** Stations from one to another along a ringlet. */
    public int hops(int from, int to, int ringlet) {
        return Math.floorMod(ringlet == 0 ? to - from : from - to, stations.size());
    }

    /** The station so many hops before one along a ringlet. */
    public int upstream(int station, int ringlet, int hops) {
        return Math.floorMod(ringlet == 0 ? station - hops : station + hops, stations.size());
    }

    private int next(int station) {
        return (station + 1) % stations.size();
    }

    private int previous(int station) {
        return Math.floorMod(station - 1, stations.size());
    }

    /** Stations, the links between them, hosts. */
    public Topology topology() {
        Topology.Builder topology = new Topology.Builder();
        for (Station station : stations) {
            topology.node(new Node(station.device(), station.name(), PROGRAM));
            station.hosts().forEach(host -> topology.host(station.device(), host));
        }
        links.forEach((from, link) -> {
            DeviceId east = stations.get(from).device();
            DeviceId west = stations.get(next(from)).device();
            topology.link(new Link(
                    new Lane(east, WireConstants.PORT_RING_EAST, west, WireConstants.PORT_RING_WEST, link.rateBps(), link.delayNs()),
                    new Lane(west, WireConstants.PORT_RING_WEST, east, WireConstants.PORT_RING_EAST, link.rateBps(), link.delayNs())));
        });
        return topology.build();
    }
}

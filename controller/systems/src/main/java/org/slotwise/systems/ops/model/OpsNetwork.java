// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
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
import org.slotwise.wire.WireConstants;

/** Optical packet switches, edges that make trains, and the fibres between them; or edges and fibres alone. Immutable and valid. */
public final class OpsNetwork {
    /** Name of the program of a switch. */
    public static final String PROGRAM = "ops";
    /** Name of the program of an edge. */
    public static final String EDGE_PROGRAM = "edge";
    /** Most switches, and most edges. */
    public static final int MAX_NODES = 240;
    /** Fewest edges. */
    public static final int MIN_EDGES = 2;
    /** Most links between switches. */
    public static final int MAX_LINKS = 10_000;
    /** Largest number of a fibre. */
    public static final int MAX_FIBRE = WireConstants.MAX_FIBRES - 1;
    /** Number of an edge's own fibre. */
    public static final int EDGE_FIBRE = 0;

    private final String name;
    private final OpsSettings settings;
    private final List<OpsSwitch> switches;
    /** By number. */
    private final List<OpsEdge> edges;
    private final List<OpsLink> links;
    /** By switch. */
    private final List<Set<Integer>> fibres = new ArrayList<>();
    private final Map<DeviceId, Integer> switchNumbers = new LinkedHashMap<>();
    private final Map<DeviceId, Integer> edgeNumbers = new LinkedHashMap<>();

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if the parts do not fit together.
     *
     * @param edges in any order; numbered from 0 without a gap
     */
    public OpsNetwork(String name, OpsSettings settings, List<OpsSwitch> switches, List<OpsEdge> edges, List<OpsLink> links) {
        this.name = Objects.requireNonNull(name);
        this.settings = Objects.requireNonNull(settings);
        this.switches = List.copyOf(switches);
        this.links = List.copyOf(links);
        Ranges.check("switches", switches.size(), 0, MAX_NODES);
        Ranges.check("edges", edges.size(), MIN_EDGES, MAX_NODES);
        Ranges.check("links", links.size(), 0, MAX_LINKS);
        checkNodes(edges);
        switches.forEach(each -> fibres.add(new TreeSet<>()));
        checkLinks();
        this.edges = byNumber(edges);
        checkHosts(edges);
        OpsEdges.check(settings, this.edges, edges);
    }

    private void checkNodes(List<OpsEdge> given) {
        Set<String> names = new HashSet<>();
        Set<DeviceId> devices = new HashSet<>();
        for (int i = 0; i < switches.size(); i++) {
            checkNode("switches[" + i + "]", switches.get(i).name(), switches.get(i).device(), names, devices);
            switchNumbers.put(switches.get(i).device(), i);
        }
        for (int i = 0; i < given.size(); i++) {
            checkNode("edges[" + i + "]", given.get(i).name(), given.get(i).device(), names, devices);
        }
    }

    private static void checkNode(String where, String name, DeviceId device, Set<String> names, Set<DeviceId> devices) {
        if (!names.add(name)) {
            throw new InvalidNetworkException(where + ".name", "duplicate '" + name + "'");
        }
        if (!devices.add(device)) {
            throw new InvalidNetworkException(where + ".device_id", "duplicate " + device);
        }
    }

    private void checkLinks() {
        for (int i = 0; i < links.size(); i++) {
            OpsLink link = links.get(i);
            String where = "links[" + i + "]";
            Ranges.check(where + ".a", link.a(), 0, switches.size() - 1L);
            Ranges.check(where + ".b", link.b(), 0, switches.size() - 1L);
            if (link.a() == link.b()) {
                throw new InvalidNetworkException(where + ".b", "both ends are '" + switches.get(link.a()).name() + "'; expected two switches");
            }
            Ranges.check(where + ".delay_ns", link.delayNs(), Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
            takeFibre(where + ".fibres[0]", link.a(), link.fibreAtA());
            takeFibre(where + ".fibres[1]", link.b(), link.fibreAtB());
        }
    }

    private void takeFibre(String where, int at, int fibre) {
        int most = (WireConstants.MAX_FIBRES >> settings.fibreShift()) - 1;
        Ranges.check(where, fibre, 0, MAX_FIBRE);
        if (fibre > most) {
            throw new InvalidNetworkException(where, "expected 0 .. " + most + " with fibre_shift " + settings.fibreShift() + ", got " + fibre);
        }
        if (!fibres.get(at).add(fibre)) {
            throw new InvalidNetworkException(where, "duplicate fibre " + fibre + " of '" + switches.get(at).name() + "'");
        }
    }

    private List<OpsEdge> byNumber(List<OpsEdge> given) {
        List<OpsEdge> ordered = new ArrayList<>(Collections.nCopies(given.size(), null));
        for (int i = 0; i < given.size(); i++) {
            OpsEdge edge = given.get(i);
            String where = "edges[" + i + "]";
            if (edge.number() < 0 || edge.number() >= given.size()) {
                throw new InvalidNetworkException(where + ".number",
                        "expected 0 .. " + (given.size() - 1) + " for " + given.size() + " edges, got " + edge.number());
            }
            if (ordered.set(edge.number(), edge) != null) {
                throw new InvalidNetworkException(where + ".number", "duplicate " + edge.number());
            }
            if (edge.isDirect() != switches.isEmpty()) {
                throw new InvalidNetworkException(where, switches.isEmpty() ? "missing 'fibres'; required in a network without switches"
                        : "'fibres' is not allowed in a network with switches; expected 'switch'");
            }
            if (!edge.isDirect()) {
                Ranges.check(where + ".switch", edge.at(), 0, switches.size() - 1L);
                Ranges.check(where + ".delay_ns", edge.delayNs(), Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
                takeFibre(where + ".fibre", edge.at(), edge.fibre());
            }
        }
        ordered.forEach(edge -> edgeNumbers.put(edge.device(), edge.number()));
        return Collections.unmodifiableList(ordered);
    }

    private static void checkHosts(List<OpsEdge> given) {
        Set<Ipv4Address> hosts = new HashSet<>();
        for (int i = 0; i < given.size(); i++) {
            List<Host> own = given.get(i).hosts();
            Ranges.check("edges[" + i + "].hosts", own.size(), 0, Limits.MAX_ROUTES);
            for (int h = 0; h < own.size(); h++) {
                String place = "edges[" + i + "].hosts[" + h + "]";
                Ranges.check(place + ".port", own.get(h).port(), Limits.MIN_RING_PORT, Limits.MAX_RING_PORT);
                if (!hosts.add(own.get(h).ip())) {
                    throw new InvalidNetworkException(place + ".ip", "duplicate " + own.get(h).ip());
                }
            }
        }
        if (hosts.size() > Limits.MAX_ROUTES) {
            throw new InvalidNetworkException("edges", "expected at most " + Limits.MAX_ROUTES + " hosts, got " + hosts.size());
        }
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** What all nodes have alike. */
    public OpsSettings settings() {
        return settings;
    }

    /** The switches, by number. */
    public List<OpsSwitch> switches() {
        return switches;
    }

    /** The edges, by number. */
    public List<OpsEdge> edges() {
        return edges;
    }

    /** Fibres between switches. */
    public List<OpsLink> links() {
        return links;
    }

    /** Number of a switch. */
    public Optional<Integer> switchNumber(DeviceId device) {
        return Optional.ofNullable(switchNumbers.get(device));
    }

    /** Number of an edge. */
    public Optional<Integer> edgeNumber(DeviceId device) {
        return Optional.ofNullable(edgeNumbers.get(device));
    }

    /** Devices of all switches, in order. */
    public Set<DeviceId> switchDevices() {
        return Collections.unmodifiableSet(switchNumbers.keySet());
    }

    /** Devices of all edges, in order. */
    public Set<DeviceId> edgeDevices() {
        return Collections.unmodifiableSet(edgeNumbers.keySet());
    }

    /** Numbers of a switch's fibres, ascending. */
    public Set<Integer> fibres(int number) {
        return Collections.unmodifiableSet(fibres.get(number));
    }

    /** Ports of a switch's wavelengths for data, ascending. */
    public Set<Integer> dataPorts(int number) {
        return ports(fibres.get(number), settings.wavelengths());
    }

    /** Ports of an edge's wavelengths for data, ascending. */
    public Set<Integer> edgeDataPorts(OpsEdge edge) {
        return ports(edgeFibres(edge), settings.wavelengths());
    }

    /** All ports of a switch or edge that fibres are at, ascending; none of a device that is not in this network. */
    public Set<Integer> opticalPorts(DeviceId device) {
        Set<Integer> own = edgeNumber(device).map(number -> edgeFibres(edges.get(number)))
                .orElseGet(() -> switchNumber(device).map(fibres::get).orElse(Set.of()));
        return ports(own, settings.ports());
    }

    private static Set<Integer> edgeFibres(OpsEdge edge) {
        Set<Integer> own = new TreeSet<>();
        edge.direct().forEach(fibre -> own.add(fibre.fibre()));
        return edge.isDirect() ? own : Set.of(EDGE_FIBRE);
    }

    /** The fibres by which an edge without a switch reaches another one, the first choice first: numbers here and there. */
    public List<int[]> direct(OpsEdge from, OpsEdge to) {
        return OpsEdges.direct(from, to);
    }

    /** Queue of an edge for what goes to another one and is of a class. */
    public int queue(int edge, int trafficClass) {
        return OpsEdges.queue(settings.traffic(), edge, trafficClass);
    }

    private Set<Integer> ports(Set<Integer> own, int wavelengths) {
        Set<Integer> ports = new TreeSet<>();
        for (int fibre : own) {
            for (int wavelength = 0; wavelength < wavelengths; wavelength++) {
                ports.add(settings.port(fibre, wavelength));
            }
        }
        return ports;
    }

    /** Switches, edges, hosts, and the fibres between them: of each its first wavelength. */
    public Topology topology() {
        Topology.Builder topology = new Topology.Builder();
        switches.forEach(each -> topology.node(new Node(each.device(), each.name(), PROGRAM)));
        for (OpsEdge edge : edges) {
            topology.node(new Node(edge.device(), edge.name(), EDGE_PROGRAM));
            edge.hosts().forEach(host -> topology.host(edge.device(), host));
        }
        links.forEach(link -> topology.link(link(switches.get(link.a()).device(), link.fibreAtA(),
                switches.get(link.b()).device(), link.fibreAtB(), link.delayNs())));
        for (OpsEdge edge : edges) {
            if (!edge.isDirect()) {
                topology.link(link(edge.device(), EDGE_FIBRE, switches.get(edge.at()).device(), edge.fibre(), edge.delayNs()));
            }
            for (OpsEdge other : edges.subList(edge.number() + 1, edges.size())) {
                // How far they are apart nobody has said, and nothing depends on it.
                direct(edge, other).forEach(ends -> topology.link(link(edge.device(), ends[0], other.device(), ends[1], Limits.MIN_DELAY_NS)));
            }
        }
        return topology.build();
    }

    private Link link(DeviceId a, int fibreAtA, DeviceId b, int fibreAtB, long delayNs) {
        int portAtA = settings.port(fibreAtA, 0);
        int portAtB = settings.port(fibreAtB, 0);
        return new Link(new Lane(a, portAtA, b, portAtB, settings.rateBps(), delayNs),
                new Lane(b, portAtB, a, portAtA, settings.rateBps(), delayNs));
    }
}

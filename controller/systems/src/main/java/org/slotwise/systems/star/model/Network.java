// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.control.topology.Ranges;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.Limits;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.WireConstants;

/**
 * Cores, their edges, and how time is cut. Immutable and valid. With one core it is a star; with several it is one star a
 * core, overlaid, and {@link #stars} has each as a network of its own: its core, the edges with a fibre there, and of
 * those that fibre only. All stars have the same frames; an edge has the same signaling slot in each.
 *
 * <p>Edges are ordered by number; matrices and arrays are indexed by that order ({@link #indexOf}).
 */
public final class Network {
    /** Largest tolerance for timestamps: one second. */
    public static final long MAX_TIMESTAMP_TOLERANCE_NS = 1_000_000_000L;

    /** Most IP bytes of a train. */
    public static final long MAX_TRAIN_BYTES = 8_000_000L;

    private static final BigInteger XCP_RATE_PER_BYTE_PER_NS = BigInteger.valueOf(16_000_000_000L);

    private final FramePlan frame;
    private final TimestampUnit timestampUnit;
    private final List<Core> cores;
    private final List<Edge> edges;
    /** Edges of the network of which this is a star. */
    private final int allEdges;
    private final boolean overlaid;
    private final List<Network> stars;
    private final int beaconHoldFrames;
    private final int mtu;
    private final boolean xcp;
    private final boolean byInvitation;
    private final OptionalLong xcpBps;
    private final OptionalLong trainBytes;
    private final List<TrafficClass> trainClasses;
    private final long timestampToleranceNs;
    private final long minControlLatencyNs;
    private final Map<EdgeId, Integer> indexes = new HashMap<>();

    /** Builder of a network. Default: without XCP, bursts and dynamic membership, and with exact timestamps. */
    public static final class Builder {
        private FramePlan frame;
        private TimestampUnit timestampUnit;
        private List<Core> cores;
        private List<Edge> edges;
        private int beaconHoldFrames;
        private int mtu;
        private boolean xcp;
        private OptionalLong xcpBps = OptionalLong.empty();
        private boolean byInvitation;
        private long timestampToleranceNs;
        private OptionalLong trainBytes = OptionalLong.empty();
        private List<TrafficClass> trainClasses = List.of();
        private long minControlLatencyNs;

        /** Creates a builder with the parts that every network has. */
        public Builder(FramePlan frame, TimestampUnit timestampUnit, List<Core> cores, List<Edge> edges, int beaconHoldFrames, int mtu) {
            this.frame = frame;
            this.timestampUnit = timestampUnit;
            this.cores = cores;
            this.edges = edges;
            this.beaconHoldFrames = beaconHoldFrames;
            this.mtu = mtu;
        }

        private Builder(Network of) {
            this(of.frame, of.timestampUnit, of.cores, of.edges, of.beaconHoldFrames, of.mtu);
            this.xcp = of.xcp;
            this.xcpBps = of.xcpBps;
            this.byInvitation = of.byInvitation;
            this.timestampToleranceNs = of.timestampToleranceNs;
            this.trainBytes = of.trainBytes;
            this.trainClasses = of.trainClasses;
            this.minControlLatencyNs = of.minControlLatencyNs;
        }

        /** Sets the division of time into slots and frames. */
        public Builder frame(FramePlan newFrame) {
            this.frame = newFrame;
            return this;
        }

        /** Sets the unit of the switches' timestamps. */
        public Builder timestampUnit(TimestampUnit unit) {
            this.timestampUnit = unit;
            return this;
        }

        /** Sets the maximum difference between two timestamps of the same time. */
        public Builder timestampToleranceNs(long ns) {
            this.timestampToleranceNs = ns;
            return this;
        }

        /** Sets whether VOQs have XCP controllers, with a fixed capacity or that of their granted slots. */
        public Builder xcp(boolean isOn, OptionalLong bps) {
            this.xcp = isOn;
            this.xcpBps = bps;
            return this;
        }

        /** Sets whether member edges join by invitation. */
        public Builder byInvitation(boolean isOn) {
            this.byInvitation = isOn;
            return this;
        }

        /** Sets the maximum IP bytes of a burst, and the classes with separate bursts; the first class that matches a packet applies. */
        public Builder trains(OptionalLong bytes, List<TrafficClass> classes) {
            this.trainBytes = bytes;
            this.trainClasses = classes;
            return this;
        }

        /** Sets the minimum latency of a message from a switch to the controller. */
        public Builder minControlLatencyNs(long ns) {
            this.minControlLatencyNs = ns;
            return this;
        }

        /** Returns the network. Throws {@link InvalidNetworkException} with the place and the reason if the parts are inconsistent. */
        public Network build() {
            return new Network(this);
        }
    }

    private Network(Builder parts) {
        this.frame = Objects.requireNonNull(parts.frame);
        this.timestampUnit = Objects.requireNonNull(parts.timestampUnit);
        this.cores = sorted(parts.cores);
        this.beaconHoldFrames = (int) Ranges.check("beacon_hold_frames", parts.beaconHoldFrames, Limits.MIN_BEACON_HOLD_FRAMES,
                Limits.MAX_BEACON_HOLD_FRAMES);
        this.mtu = (int) Ranges.check("mtu", parts.mtu, Limits.MIN_MTU, Limits.MAX_MTU);
        this.xcp = parts.xcp;
        this.byInvitation = parts.byInvitation;
        if (byInvitation && 2 * frame.frameNs() > WireConstants.MAX_ANSWER_NS) {
            throw new InvalidNetworkException("membership", "expected a frame of at most "
                    + WireConstants.MAX_ANSWER_NS / 2 + " ns with dynamic membership, got " + frame.frameNs());
        }
        if ((byInvitation || cores.size() > 1) && frame.requestIntervalFrames() > 1) {
            throw new InvalidNetworkException("frame.request_interval_frames",
                    "expected 1 with dynamic membership or several cores, got "
                    + frame.requestIntervalFrames());
        }
        this.xcpBps = parts.xcpBps;
        if (xcpBps.isPresent()) {
            Ranges.check("xcp_bps", xcpBps.getAsLong(), Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        }
        this.trainBytes = parts.trainBytes;
        this.trainClasses = List.copyOf(parts.trainClasses);
        if (trainBytes.isPresent()) {
            Ranges.check("aggregation.size_bytes", trainBytes.getAsLong(), 1, MAX_TRAIN_BYTES);
            if (xcp || byInvitation || cores.size() > 1) {
                throw new InvalidNetworkException("aggregation",
                        "requires one core, static membership and no XCP");
            }
        }
        this.timestampToleranceNs =
                Ranges.check("timestamp_tolerance_ns", parts.timestampToleranceNs, 0, MAX_TIMESTAMP_TOLERANCE_NS);
        this.minControlLatencyNs = Ranges.check("min_control_latency_ns", parts.minControlLatencyNs, Limits.MIN_CONTROL_LATENCY_NS,
                Limits.MAX_CONTROL_LATENCY_NS);
        checkCores(parts.cores);
        checkEdges(parts.edges);
        List<Edge> sorted = new ArrayList<>(parts.edges);
        sorted.sort(Comparator.comparing(Edge::id));
        this.edges = List.copyOf(sorted);
        for (int i = 0; i < sorted.size(); i++) {
            indexes.put(sorted.get(i).id(), i);
        }
        checkTrainClasses();
        checkMasters(parts.cores);
        checkMasterPorts(parts.cores, parts.edges);
        this.allEdges = sorted.size();
        this.overlaid = false;
        this.stars = cores.size() == 1 ? List.of(this) : overlay();
    }

    /** The star of one core of several. */
    private Network(Network whole, Core core) {
        this.frame = whole.frame;
        this.timestampUnit = whole.timestampUnit;
        this.cores = List.of(core);
        List<Edge> attached = new ArrayList<>();
        for (Edge edge : whole.edges) {
            if (edge.fibreTo(core.id()).isPresent()) {
                indexes.put(edge.id(), attached.size());
                attached.add(edge.in(core.id()));
            }
        }
        this.edges = List.copyOf(attached);
        this.allEdges = whole.edges.size();
        this.overlaid = true;
        this.stars = List.of(this);
        this.beaconHoldFrames = whole.beaconHoldFrames;
        this.mtu = whole.mtu;
        this.xcp = whole.xcp;
        this.xcpBps = whole.xcpBps;
        this.trainBytes = whole.trainBytes;
        this.trainClasses = whole.trainClasses;
        this.byInvitation = whole.byInvitation;
        this.timestampToleranceNs = whole.timestampToleranceNs;
        this.minControlLatencyNs = whole.minControlLatencyNs;
    }

    private void checkTrainClasses() {
        Set<Integer> numbers = new HashSet<>();
        for (TrafficClass each : trainClasses) {
            if (trainBytes.isEmpty() || each.number() == 0 || !numbers.add(each.number())) {
                throw new InvalidNetworkException("aggregation.classes", "expected different class numbers above 0, got "
                        + each.number());
            }
            for (Edge edge : edges) {
                Ranges.check("aggregation.classes", trainQueue(edge, each.number()), 0, WireConstants.SIGNALING_QUEUE - 1L);
            }
        }
    }

    private static List<Core> sorted(List<Core> cores) {
        List<Core> sorted = new ArrayList<>(cores);
        sorted.sort(Comparator.comparing(Core::id));
        return List.copyOf(sorted);
    }

    private List<Network> overlay() {
        for (int i = 0; i < edges.size(); i++) {
            if (edges.get(i).id().value() != i) {
                throw new InvalidNetworkException("edges", "missing edge " + i
                        + "; expected edges numbered from 0 without gaps with several cores");
            }
        }
        int queues = (cores.get(cores.size() - 1).id().value() + 1) * edges.size();
        if (queues > WireConstants.SIGNALING_QUEUE) {
            throw new InvalidNetworkException("cores", "expected at most "
                    + WireConstants.SIGNALING_QUEUE + " queues per edge (cores x edges), got " + queues);
        }
        List<Network> overlaidStars = new ArrayList<>();
        for (Core core : cores) {
            Network star = new Network(this, core);
            if (star.edges.size() < 2) {
                throw new InvalidNetworkException("edges", "expected at least 2 edges with a fibre to core "
                        + core.id() + ", got " + star.edges.size());
            }
            overlaidStars.add(star);
        }
        return List.copyOf(overlaidStars);
    }

    private static void checkCores(List<Core> given) {
        Ranges.check("cores", given.size(), 1, WireConstants.MAX_CORES);
        Set<CoreId> ids = new HashSet<>();
        Set<EdgeId> masters = new HashSet<>();
        for (int i = 0; i < given.size(); i++) {
            String where = "cores[" + i + "]";
            Ranges.check(where + ".id", given.get(i).id().value(), 0, WireConstants.MAX_CORES - 1);
            unique(where + ".id", ids, given.get(i).id());
            unique(where + ".master", masters, given.get(i).master());
        }
    }

    private void checkMasters(List<Core> given) {
        for (int i = 0; i < given.size(); i++) {
            Core core = given.get(i);
            String where = "cores[" + i + "].master";
            if (!indexes.containsKey(core.master())) {
                throw new InvalidNetworkException(where, "unknown edge " + core.master());
            }
            if (edges.get(indexes.get(core.master())).fibreTo(core.id()).isEmpty()) {
                throw new InvalidNetworkException(where, "edge " + core.master() + " has no fibre to core " + core.id());
            }
        }
    }

    /** In a signaling slot the master and a slave send at once. */
    private void checkMasterPorts(List<Core> givenCores, List<Edge> givenEdges) {
        for (Core core : givenCores) {
            int mastersPort = edges.get(indexes.get(core.master())).corePort(core.id());
            for (int i = 0; i < givenEdges.size(); i++) {
                Edge edge = givenEdges.get(i);
                for (int j = 0; j < edge.fibres().size() && !edge.id().equals(core.master()); j++) {
                    if (edge.fibres().get(j).core().equals(core.id()) && edge.corePort(core.id()) == mastersPort) {
                        throw new InvalidNetworkException("edges[" + i + "].fibres[" + j + "].core_port", "port " + mastersPort
                                + " of core " + core.id() + " belongs to its master; expected a port that the master does not use");
                    }
                }
            }
        }
    }

    private void checkEdges(List<Edge> given) {
        if (given.size() < 2 || given.size() > WireConstants.MAX_FIBRES) {
            throw new InvalidNetworkException("edges",
                    "expected 2 .. " + WireConstants.MAX_FIBRES + " edges, got " + given.size());
        }
        if (hasSignalingSlots() && frame.slots() <= given.size()) {
            throw new InvalidNetworkException("frame.slots", "expected at least " + (given.size() + 1) + " slots for "
                    + given.size() + " edges (one signaling slot each), got " + frame.slots());
        }
        Set<EdgeId> ids = new HashSet<>();
        Set<DeviceId> devices = new HashSet<>();
        for (int i = 0; i < cores.size(); i++) {
            unique("cores[" + i + "].device_id", devices, cores.get(i).device());
        }
        Set<Ipv4Address> addresses = new HashSet<>();
        for (int i = 0; i < given.size(); i++) {
            Edge edge = given.get(i);
            String where = "edges[" + i + "]";
            unique(where + ".id", ids, edge.id());
            unique(where + ".device_id", devices, edge.device());
            checkFibres(where + ".fibres", edge.fibres());
            checkHosts(where + ".hosts", edge.hosts(), addresses);
        }
        if (addresses.size() > Limits.MAX_ROUTES) {
            throw new InvalidNetworkException("edges", "expected at most " + Limits.MAX_ROUTES
                    + " hosts in total, got " + addresses.size());
        }
    }

    private void checkFibres(String where, List<Fibre> fibres) {
        Ranges.check(where, fibres.size(), 1, cores.size());
        Set<CoreId> ends = new HashSet<>();
        for (int i = 0; i < fibres.size(); i++) {
            checkFibre(where + "[" + i + "]", fibres.get(i));
            unique(where + "[" + i + "].core", ends, fibres.get(i).core());
        }
    }

    private void checkFibre(String where, Fibre fibre) {
        if (cores.stream().noneMatch(core -> core.id().equals(fibre.core()))) {
            throw new InvalidNetworkException(where + ".core", "unknown core " + fibre.core());
        }
        Ranges.check(where + ".rate_bps", fibre.rateBps(), Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        Ranges.check(where + ".delay_ns", fibre.delayNs(), Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
        if (fibre.corePort().isPresent()) {
            Ranges.check(where + ".core_port", fibre.corePort().getAsInt(), 0, WireConstants.MAX_FIBRES - 1);
        }
        int port = WireConstants.PORT_OPTICAL_BASE + fibre.core().value();
        if (fibre.port() != port) {
            throw new InvalidNetworkException(where + ".port",
                    "expected " + port + " for the fibre to core " + fibre.core() + ", got " + fibre.port());
        }
        if (slotPayloadBytes(fibre) == 0) {
            throw new InvalidNetworkException(where + ".rate_bps", "a slot carries " + openBytes(fibre)
                    + " bytes; expected at least " + wireMtuBytes() + ", one packet");
        }
    }

    /** Hosts behind a router have its port of the edge, and its Ethernet address. */
    private static void checkHosts(String where, List<Host> hosts, Set<Ipv4Address> addresses) {
        Ranges.check(where, hosts.size(), Limits.MIN_ROUTES, Limits.MAX_ROUTES);
        Map<Integer, MacAddress> ports = new HashMap<>();
        for (int i = 0; i < hosts.size(); i++) {
            Host host = hosts.get(i);
            String place = where + "[" + i + "]";
            Ranges.check(place + ".port", host.port(), 1, WireConstants.PORT_OPTICAL_BASE - 1);
            MacAddress there = ports.putIfAbsent(host.port(), host.mac());
            if (there != null && !there.equals(host.mac())) {
                throw new InvalidNetworkException(place + ".mac", "expected " + there + ", the router's address at port " + host.port() + ", got "
                        + host.mac());
            }
            unique(place + ".ip", addresses, host.ip());
        }
    }

    private static <T> void unique(String where, Set<T> seen, T value) {
        if (!seen.add(value)) {
            throw new InvalidNetworkException(where, "duplicate " + value);
        }
    }

    /** Returns a builder with the parts of this network. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** How time is cut. */
    public FramePlan frame() {
        return frame;
    }

    /** Unit of the switches' own timestamps. */
    public TimestampUnit timestampUnit() {
        return timestampUnit;
    }

    /** Cores, ordered by number. */
    public List<Core> cores() {
        return cores;
    }

    /** The stars, ordered by core; of a network of one core, itself. */
    public List<Network> stars() {
        return stars;
    }

    /** Whether this is one of several stars that have edges in common. */
    public boolean isOverlaid() {
        return overlaid;
    }

    /** All switches: cores, then edges. */
    public List<DeviceId> devices() {
        List<DeviceId> devices = new ArrayList<>(coreDevices());
        devices.addAll(edgeDevices());
        return devices;
    }

    /** The cores' switches. */
    public List<DeviceId> coreDevices() {
        return cores.stream().map(Core::device).collect(Collectors.toList());
    }

    /** The edges' switches. */
    public List<DeviceId> edgeDevices() {
        return edges.stream().map(Edge::device).collect(Collectors.toList());
    }

    /** The core of a star; throws IllegalStateException if there are several. */
    public Core core() {
        if (cores.size() != 1) {
            throw new IllegalStateException("there are " + cores.size() + " cores; expected a single star");
        }
        return cores.get(0);
    }

    /** Edges, ordered by number. */
    public List<Edge> edges() {
        return edges;
    }

    /** Which edges of a star share a port of its core; throws IllegalStateException if there are several cores. */
    public CorePorts corePorts() {
        return CorePorts.of(edges.stream().mapToInt(edge -> edge.corePort(core().id())).toArray());
    }

    /** The edge that sits with the core of a star; throws IllegalStateException if there are several cores. */
    public Edge master() {
        return edges.get(indexes.get(core().master()));
    }

    /** Frames that an edge uses its slots after the last beacon. */
    public int beaconHoldFrames() {
        return beaconHoldFrames;
    }

    /** Largest IP packet of the hosts, bytes. */
    public int mtu() {
        return mtu;
    }

    /** Whether the edges' VOQs have XCP controllers. */
    public boolean xcp() {
        return xcp;
    }

    /** Whether slaves join by invitation and follow the master's clock; if not, all clocks are one. */
    public boolean byInvitation() {
        return byInvitation;
    }

    /** Whether masters can be shut down: slaves that join by invitation are told so, or other stars take the traffic over. */
    public boolean canShutDown() {
        return byInvitation || stars.size() > 1;
    }

    /** Capacity that XCP reckons with for every VOQ, bit/s (plain XCP); empty: that of the slots granted (XCP-CL). */
    public OptionalLong xcpBps() {
        return xcpBps;
    }

    /** IP bytes of a train at most, but for one of a single packet; empty: packets travel by themselves. */
    public OptionalLong trainBytes() {
        return trainBytes;
    }

    /** Classes that have trains of their own, the one that counts first first. */
    public List<TrafficClass> trainClasses() {
        return trainClasses;
    }

    /** The queue in which packets of a class become trains, which wait in the VOQ of their edge; for class 0 it has the same number. */
    public int trainQueue(Edge destination, int trafficClass) {
        return trafficClass * (lastQueue() + 1) + queue(destination);
    }

    /** How far apart a switch may stamp two packets that came at once, ns. */
    public long timestampToleranceNs() {
        return timestampToleranceNs;
    }

    /**
     * Maximum time from the arrival of a request of the master, out of band, until the core has begun the frame that the request names:
     * the master's frames begin T_d before the core's. In-band 0, as requests of other edges pass through the core.
     */
    public long coreLagNs() {
        return outOfBand() ? Math.max(0, master().fibre().delayNs() - minControlLatencyNs) : 0;
    }

    /** Place of an edge in matrices; empty if there is no such edge. */
    public OptionalInt indexOf(EdgeId id) {
        Integer index = indexes.get(id);
        return index == null ? OptionalInt.empty() : OptionalInt.of(index);
    }

    /** Whether all that is said goes between each switch and the controller, but for light by which T_d is measured. */
    public boolean outOfBand() {
        return frame.signaling() == Signaling.OUT_OF_BAND;
    }

    /** Whether edges have a slot each for signaling: in-band for all of it, out of band for light by which T_d is measured. */
    public boolean hasSignalingSlots() {
        return !outOfBand() || byInvitation;
    }

    /** First slot that carries data; the ones before are signaling slots, one an edge, if there are any. */
    public int firstDataSlot() {
        return hasSignalingSlots() ? allEdges : 0;
    }

    /** Slots of a frame that carry data: the capacity of each edge's row and column. */
    public int dataSlots() {
        return frame.slots() - firstDataSlot();
    }

    /**
     * Slot in which an edge signals: 0 for the master, then the slaves by number. Overlaid stars have different masters, so
     * there it is the edge's number. 0 if there are no signaling slots.
     */
    public int signalingSlot(Edge edge) {
        if (!hasSignalingSlots()) {
            return 0;
        }
        if (overlaid) {
            return edge.id().value();
        }
        int index = indexes.get(edge.id());
        int master = indexes.get(core().master());
        if (index == master) {
            return 0;
        }
        return index < master ? index + 1 : index;
    }

    /** A star's queue, at every edge, for {@code destination}; queues are numbered over all stars. */
    public int queue(Edge destination) {
        return firstQueue() + destination.id().value();
    }

    private int firstQueue() {
        return overlaid ? core().id().value() * allEdges : 0;
    }

    private int lastQueue() {
        return firstQueue() + (overlaid ? allEdges - 1 : edges.get(edges.size() - 1).id().value());
    }

    /** First block of queues that an edge's requests have; block b holds queues REQUEST_ENTRIES*b and following. */
    public int firstRequestBlock() {
        return firstQueue() / WireConstants.REQUEST_ENTRIES;
    }

    /** Request messages that an edge sends a frame in a star, one for each block that has a queue of the star. */
    public int requestBlocks() {
        return lastQueue() / WireConstants.REQUEST_ENTRIES - firstRequestBlock() + 1;
    }

    /** Bytes on the fibre of the largest packet: IP, Ethernet and optical header. */
    public int wireMtuBytes() {
        return mtu + EthernetHeader.SIZE + OpticalHeader.SIZE;
    }

    /** Bytes that one slot carries in packets of the largest size. */
    public long slotPayloadBytes(Edge edge) {
        return slotPayloadBytes(edge.fibre());
    }

    /** What a slot of an edge's fastest fibre carries, bytes as on the fibre. */
    public long slotBytes(Edge edge) {
        return edge.fibres().stream().mapToLong(this::openBytes).max().orElseThrow();
    }

    /** What one slot a frame is worth in packets of the largest size, 1/16 byte/s: the unit of XCP's rates. */
    public long slotThroughput(Edge edge) {
        BigInteger frameNs = BigInteger.valueOf(frame.slotNs()).multiply(BigInteger.valueOf(frame.slots()));
        return BigInteger.valueOf(slotPayloadBytes(edge)).multiply(XCP_RATE_PER_BYTE_PER_NS).divide(frameNs).longValue();
    }

    /** The fixed capacity in the same unit; only where there is one. */
    public long xcpThroughput() {
        return xcpBps.orElseThrow() * 2;
    }

    private long slotPayloadBytes(Fibre fibre) {
        return openBytes(fibre) / wireMtuBytes() * wireMtuBytes();
    }

    private long openBytes(Fibre fibre) {
        long openNs = frame.slotNs() - frame.guardNs();
        // At most 10^9 ns x 10^12 bit/s: split so that the product stays in 64 bits.
        long bitsPerUs = fibre.rateBps() / 1_000_000;
        long restBitsPerS = fibre.rateBps() % 1_000_000;
        long bits = bitsPerUs * openNs / 1000 + restBitsPerS * openNs / 1_000_000_000L;
        return bits / 8;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Fibre;
import org.slotwise.systems.star.model.FramePlan;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Signaling;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.wire.WireConstants;

/** Networks for tests: stars like the main scenario's, one host an edge. */
public final class Networks {
    /** Slots of 250 us with a guard of 10 us, as in the main scenario. */
    public static final long SLOT_NS = 250_000;

    private Networks() {
    }

    /** A scheduler with all its defaults. */
    public static SchedulerChosen scheduler(SchedulerKind kind) {
        try {
            return new SchedulerChosen(kind, kind.completeSettings(Map.of()));
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
    }

    /** A star whose master is edge 0. */
    public static Network star(int edges, int slots) {
        return star(edges, slots, 0);
    }

    /** A star with fibres of 200 Mb/s and an MTU of 1450 bytes: four packets, 5920 bytes, a slot. */
    public static Network star(int edges, int slots, int master) {
        List<Edge> list = new ArrayList<>();
        for (int id = 0; id < edges; id++) {
            list.add(edge(id, 200_000_000));
        }
        return star(new FramePlan(slots, SLOT_NS, 10_000), List.of(new Core(CoreId.of(0), EdgeId.of(master), DeviceId.of(1001))), list);
    }

    /** The same network whose edges ask every so many frames. */
    public static Network askingEvery(int frames, Network network) {
        FramePlan plan = network.frame();
        return network.toBuilder().frame(new FramePlan(plan.slots(), plan.slotNs(), plan.guardNs(), plan.signaling(), frames)).build();
    }

    /** The same network with XCP controllers on its VOQs, whose capacity is that of their slots. */
    public static Network withXcp(Network network) {
        return withXcp(network, OptionalLong.empty());
    }

    /** The same network with XCP controllers on its VOQs. */
    public static Network withXcp(Network network, OptionalLong xcpBps) {
        return network.toBuilder().xcp(true, xcpBps).build();
    }

    /** The same network whose slaves join by invitation. */
    public static Network byInvitation(Network network) {
        return network.toBuilder().byInvitation(true).build();
    }

    /** The same network with signaling out of band. */
    public static Network outOfBand(Network network) {
        FramePlan plan = network.frame();
        return network.toBuilder().frame(new FramePlan(plan.slots(), plan.slotNs(), plan.guardNs(), Signaling.OUT_OF_BAND)).build();
    }

    /** The star whose master is edge 0 with this port of the core for each edge. */
    public static Network sharingPorts(int slots, int... ports) {
        List<Edge> list = new ArrayList<>();
        for (int id = 0; id < ports.length; id++) {
            list.add(withFibres(edge(id, 200_000_000), List.of(new Fibre(CoreId.of(0), WireConstants.PORT_OPTICAL_BASE,
                    200_000_000, 10_000, OptionalInt.of(ports[id])))));
        }
        return star(new FramePlan(slots, SLOT_NS, 10_000), List.of(new Core(CoreId.of(0), EdgeId.of(0), DeviceId.of(1001))), list);
    }

    /** Overlaid stars of the same kind: each edge has a fibre to each core, and edge k is core k's master. */
    public static Network overlaid(int edges, int slots, int cores) {
        List<Edge> list = new ArrayList<>();
        List<Core> coreList = new ArrayList<>();
        for (int core = 0; core < cores; core++) {
            coreList.add(new Core(CoreId.of(core), EdgeId.of(core), DeviceId.of(1001 + core)));
        }
        for (int id = 0; id < edges; id++) {
            List<Fibre> fibres = new ArrayList<>();
            for (int core = 0; core < cores; core++) {
                fibres.add(fibre(core, 200_000_000));
            }
            list.add(withFibres(edge(id, 200_000_000), fibres));
        }
        return star(new FramePlan(slots, SLOT_NS, 10_000), coreList, list);
    }

    /** Stars of these cores and edges. */
    public static Network star(FramePlan frame, List<Core> cores, List<Edge> edges) {
        return new Network.Builder(frame, TimestampUnit.NS, cores, edges, 1, 1450).build();
    }

    /** The same edge with other fibres. */
    public static Edge withFibres(Edge edge, List<Fibre> fibres) {
        return new Edge(edge.id(), edge.device(), edge.mac(), edge.hosts(), fibres);
    }

    /** A fibre of 10 us to a core. */
    public static Fibre fibre(int core, long rateBps) {
        return new Fibre(CoreId.of(core), WireConstants.PORT_OPTICAL_BASE + core, rateBps, 10_000);
    }

    /** An edge with one host on port 1. */
    public static Edge edge(int id, long rateBps) {
        return new Edge(EdgeId.of(id), DeviceId.of(id + 1),
                MacAddress.parse(String.format("02:ff:00:%02x:00:00", id)),
                List.of(new Host("h" + id + "_0", Ipv4Address.parse("10.0." + id + ".1"),
                        MacAddress.parse(String.format("02:00:00:%02x:00:01", id)), 1)),
                new Fibre(CoreId.of(0), WireConstants.PORT_OPTICAL_BASE, rateBps, 10_000));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.slotwise.control.topology.InvalidNetworkException;

class OpsNetworkTest {
    private final List<OpsSwitch> switches = new ArrayList<>(List.of(new OpsSwitch("s0", Meshes.switchDevice(0)), new OpsSwitch("s1", Meshes.switchDevice(1))));
    private final List<OpsEdge> edges = new ArrayList<>(List.of(Meshes.edge(0, 0, 1), Meshes.edge(1, 1, 1)));
    private final List<OpsLink> links = new ArrayList<>(List.of(new OpsLink(0, 1, 0, 0, 1000)));

    private OpsNetwork build() {
        return new OpsNetwork("two", Meshes.settings().build(), switches, edges, links);
    }

    private static void refused(String reason, Executable made) {
        assertEquals(reason, assertThrows(InvalidNetworkException.class, made).getMessage());
    }

    @Test
    void portsAreThoseOfFibresAndWavelengths() {
        OpsNetwork network = Meshes.triangle().with(Meshes.settings().wavelengths(2, true, 2)).build();
        assertEquals(Set.of(256, 257, 260, 261, 264, 265), network.dataPorts(0));
        assertEquals(Set.of(256, 257, 258, 260, 261, 262, 264, 265, 266), network.opticalPorts(Meshes.switchDevice(0)));
        assertEquals(Set.of(256, 257, 258), network.opticalPorts(Meshes.edgeDevice(2)));
        assertEquals(6, network.topology().nodes().size());
        assertEquals(6, network.topology().links().size());
        assertEquals("5003:256 > 4003:264", network.topology().links().get(5).there().toString());
    }

    @Test
    void edgesMayComeInAnyOrder() {
        edges.add(0, edges.remove(1));
        assertEquals("e0", build().edges().get(0).name());
    }

    @Test
    void whatDoesNotFitTogetherIsRefusedWithPlaceAndReason() {
        edges.set(1, Meshes.edge(1, 1, 0));
        refused("edges[1].fibre: 's1' has another fibre 0 already", this::build);
        edges.set(1, Meshes.edge(1, 1, 120));
        refused("edges[1].fibre: with a fibre_shift of 1 a fibre is 0 .. 119, got 120", this::build);
        edges.set(1, Meshes.edge(1, 2, 1));
        refused("edges[1].switch: must be 0 .. 1, got 2", this::build);
        edges.set(1, Meshes.edge(2, 1, 1));
        refused("edges[1].number: 2 edges have the numbers 0 .. 1, got 2", this::build);
        edges.set(1, new OpsEdge("s1", Meshes.edgeDevice(1), 1, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].name: 's1' is used twice", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.switchDevice(1), 1, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].device_id: 4002 is used twice", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.edgeDevice(1), 0, edges.get(0).mac(), 1, 1, 0, List.of()));
        refused("edges[1].number: 0 is used twice", this::build);
        edges.set(1, new OpsEdge("e1", Meshes.edgeDevice(1), 1, edges.get(0).mac(), 1, 1, 0, edges.get(0).hosts()));
        refused("edges[1].hosts[0].ip: 10.1.0.1 is used twice", this::build);
        edges.remove(1);
        refused("edges: must be 2 .. 240, got 1", this::build);
    }

    @Test
    void linksJoinSwitchesThatThereAreByFibresOfTheirOwn() {
        links.add(new OpsLink(1, 0, 2, 0, 1000));
        refused("links[1].fibres[1]: 's0' has another fibre 0 already", this::build);
        links.set(1, new OpsLink(1, 1, 2, 3, 1000));
        refused("links[1].b: a link joins two switches, and both are 's1'", this::build);
        links.set(1, new OpsLink(2, 0, 2, 3, 1000));
        refused("links[1].a: must be 0 .. 1, got 2", this::build);
        links.set(1, new OpsLink(1, 0, 2, 3, -1));
        refused("links[1].delay_ns: must be 0 .. 1000000000, got -1", this::build);
        links.set(1, new OpsLink(1, 0, 2, 240, 0));
        refused("links[1].fibres[1]: must be 0 .. 239, got 240", this::build);
    }

    @Test
    void settingsHaveBounds() {
        refused("fibre_shift: a fibre has 3 ports, for which 2^1 are too few", () -> Meshes.settings().wavelengths(2, false, 1).build());
        refused("wavelengths: must be 1 .. 8, got 9", () -> Meshes.settings().wavelengths(9, false, 4).build());
        refused("target: must be above 0 and at most 1, got 0.0", () -> Meshes.settings().target(0).build());
        refused("target: must be above 0 and at most 1, got NaN", () -> Meshes.settings().target(Double.NaN).build());
        refused("ram_bytes: must be 0 .. 1073741824, got -1", () -> Meshes.settings().ramBytes(-1).build());
        refused("period_ns: must be 1000000 .. 1000000000, got 999999", () -> new OpsProbes(100_000_000, 999_999, 0.2, 0, 0));
        refused("alpha: must be above 0 and at most 1, got 0", () -> new OpsProbes(100_000_000, 50_000_000, 0, 0, 0));
        refused("beta: must be 0 .. 1, got 1.5", () -> new OpsProbes(100_000_000, 50_000_000, 1, 1.5, 0));
    }
}

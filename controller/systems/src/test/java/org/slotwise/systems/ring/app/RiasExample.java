// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** An example of {@code engine/crates/rias/examples.json}: what each flow of a ringlet is to get, in any unit. */
final class RiasExample {
    private static final Path FILE = Path.of("../../engine/crates/rias/examples.json");

    private final JsonNode node;

    private RiasExample(JsonNode node) {
        this.node = node;
    }

    static List<RiasExample> all() throws IOException {
        List<RiasExample> examples = new ArrayList<>();
        new ObjectMapper().readTree(FILE.toFile()).forEach(example -> examples.add(new RiasExample(example)));
        return examples;
    }

    int stations() {
        return node.get("capacities").size();
    }

    int flows() {
        return node.get("flows").size();
    }

    /** Of the link from a station to the next one. */
    double capacity(int link) {
        return node.get("capacities").get(link).doubleValue();
    }

    int weight(int station) {
        return node.has("weights") ? node.get("weights").get(station).intValue() : 1;
    }

    private JsonNode flow(int flow) {
        return node.get("flows").get(flow);
    }

    int source(int flow) {
        return flow(flow).get("source").intValue();
    }

    int hops(int flow) {
        return Math.floorMod(flow(flow).get("destination").intValue() - source(flow), stations());
    }

    /** Most that it can use; endless if it is greedy. */
    double demand(int flow) {
        return flow(flow).path("demand").asDouble(Double.POSITIVE_INFINITY);
    }

    /** What it is to get. */
    double rate(int flow) {
        return flow(flow).get("rate").doubleValue();
    }

    /** The links that it crosses. */
    List<Integer> path(int flow) {
        List<Integer> links = new ArrayList<>();
        for (int hop = 0; hop < hops(flow); hop++) {
            links.add((source(flow) + hop) % stations());
        }
        return links;
    }

    /** The flows that cross a link. */
    List<Integer> crossing(int link) {
        List<Integer> flows = new ArrayList<>();
        for (int flow = 0; flow < flows(); flow++) {
            if (path(flow).contains(link)) {
                flows.add(flow);
            }
        }
        return flows;
    }

    @Override
    public String toString() {
        return node.get("name").textValue();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.systems.ring.model.RingLink;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.wire.FairnessEntryHeader;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.WireConstants;

/**
 * Flows like water over a ringlet whose limits the application says, an interval a step: stations report the rates of whole windows,
 * keep what they were told and let it rise as {@code ring.p4} does. In the end each flow has what the oracle gives it, or near it.
 */
class ClosedLoopTest {
    /** bit/s for a unit of the examples. */
    private static final long UNIT_BPS = 1_000_000;
    private static final double UNIT = UNIT_BPS / 8.0;
    private static final int WINDOWS = 60;
    private static final int MEASURED = 20;
    private static final double TOLERANCE = 0.05;
    private static final double NOTHING = 1e-6;

    private RiasExample example;
    private RingNetwork ring;
    private FairnessApp app;
    private Station[] stations;
    /** Byte/s, now, and bytes since the window began, as parts of a second's. */
    private double[] rates;
    private double[] carried;
    private double[] before;

    static List<RiasExample> examples() throws Exception {
        return RiasExample.all();
    }

    /** What a station of the model knows. */
    private static final class Station {
        private RingPhase phase = RingPhase.QUIET;
        private double toldByItself;
        private List<FairnessEntryHeader> told = List.of();
        private double risen;
        private int age;
    }

    /** Byte/s that all of a station's flows that go so far may have together. */
    private double limit(int station, int hops) {
        double most = example.capacity(station) * UNIT;
        for (FairnessEntryHeader entry : stations[station].told) {
            most = hops > entry.hops() ? Math.min(most, (entry.rate() + stations[station].risen) * example.weight(station)) : most;
        }
        return most;
    }

    /** A station's flows rise alike until a limit, or what they can use, holds them. */
    private void send(int station) {
        List<Integer> flows = IntStream.range(0, rates.length).filter(flow -> example.source(flow) == station).boxed().collect(Collectors.toList());
        flows.forEach(flow -> rates[flow] = 0);
        List<Integer> rising = flows;
        while (!rising.isEmpty()) {
            double step = Double.POSITIVE_INFINITY;
            for (int flow : rising) {
                step = Math.min(step, room(station, flow, flows, rising));
            }
            for (int flow : rising) {
                rates[flow] += step;
            }
            List<Integer> all = rising;
            rising = all.stream().filter(flow -> room(station, flow, flows, all) > NOTHING).collect(Collectors.toList());
        }
    }

    /** How far a flow can rise with the others. */
    private double room(int station, int flow, List<Integer> flows, List<Integer> rising) {
        double room = example.demand(flow) * UNIT - rates[flow];
        for (int hops = 1; hops <= example.hops(flow); hops++) {
            int far = hops;
            double sum = flows.stream().filter(other -> example.hops(other) >= far).mapToDouble(other -> rates[other]).sum();
            room = Math.min(room, (limit(station, far) - sum) / rising.stream().filter(other -> example.hops(other) >= far).count());
        }
        return room;
    }

    private double put(double[] of, int source, int link) {
        return example.crossing(link).stream().filter(flow -> example.source(flow) == source).mapToDouble(flow -> of[flow]).sum();
    }

    /** The rules of {@code change} in {@code ring_link.p4}, with an estimator that shows what is. */
    private void change(int head) {
        RingLink link = ring.links().get(head);
        Station own = stations[head];
        double load = IntStream.range(0, stations.length).mapToDouble(source -> put(rates, source, head)).sum();
        if (load > ring.target(link) + 1) {
            own.phase = RingPhase.CONGESTED;
            own.toldByItself = 0;
        } else if (own.phase == RingPhase.CONGESTED && load < ring.relief(link)) {
            own.phase = RingPhase.RISING;
        } else if (own.phase == RingPhase.RISING && own.toldByItself >= link.capacity()) {
            own.phase = RingPhase.QUIET;
        }
        if (own.phase == RingPhase.RISING) {
            own.toldByItself = Math.min(link.capacity(), own.toldByItself + link.capacity() / 64.0);
        }
    }

    private void report(int head, int interval, boolean isKnown) {
        ReportMessage report = new ReportMessage(head, 0, interval).phase(stations[head].phase.code()).told((long) stations[head].toldByItself);
        for (int source = 0; source < stations.length; source++) {
            report.source(source, isKnown ? (long) put(before, source, head)
                    : put(rates, source, head) > 0 ? WireConstants.NO_LIMIT : 0);
        }
        for (Command command : app.onEvent(interval * ring.timing().intervalNs(),
                new Event.PacketIn(Rings.device(head), WireConstants.PORT_LINECARD, report.encode()))) {
            Command.PacketOut packet = (Command.PacketOut) command;
            int station = ring.number(packet.device()).orElseThrow();
            stations[station].told = new ToldLimits(packet.frame(), station, stations.length).entries();
            stations[station].age = 0;
            stations[station].risen = 0;
        }
    }

    private void begin(RiasExample given) {
        example = given;
        long[] bps = new long[example.stations()];
        for (int link = 0; link < bps.length; link++) {
            bps[link] = ((long) example.capacity(link)) * UNIT_BPS;
        }
        Rings rings = Rings.ofLinks(bps).mode(RingMode.CONTROLLER).threshold(1).bucketBytes(64);
        for (int station = 0; station < bps.length; station++) {
            rings.weight(station, example.weight(station));
        }
        ring = rings.build();
        app = new FairnessApp(ring);
        stations = new Station[bps.length];
        Arrays.setAll(stations, each -> new Station());
        rates = new double[example.flows()];
        carried = new double[example.flows()];
        before = new double[example.flows()];
    }

    /** Whoever was not told for too long may add more and more. */
    private void rise(int station) {
        Station own = stations[station];
        own.age++;
        if (own.age > ring.timing().holdIntervals()) {
            own.risen += ring.links().get(station).capacity() / 64.0;
        }
    }

    @ParameterizedTest
    @MethodSource("examples")
    void theApplicationLeadsStationsToWhatTheOracleSays(RiasExample given) {
        begin(given);
        int window = ring.timing().windowIntervals();
        double[] measured = new double[rates.length];
        for (int interval = 1; interval <= WINDOWS * window; interval++) {
            for (int station = 0; station < stations.length; station++) {
                rise(station);
                send(station);
            }
            for (int flow = 0; flow < rates.length; flow++) {
                carried[flow] += rates[flow] / window;
            }
            if (interval % window == 0) {
                before = carried;
                carried = new double[rates.length];
                for (int flow = 0; flow < rates.length && interval > (WINDOWS - MEASURED) * window; flow++) {
                    measured[flow] += before[flow] / MEASURED;
                }
            }
            for (int head = 0; head < stations.length; head++) {
                change(head);
                if (stations[head].phase != RingPhase.QUIET) {
                    report(head, interval, interval >= window);
                }
            }
        }
        for (int flow = 0; flow < rates.length; flow++) {
            assertEquals(example.rate(flow), measured[flow] / UNIT, TOLERANCE * example.rate(flow), Arrays.toString(measured));
        }
    }
}

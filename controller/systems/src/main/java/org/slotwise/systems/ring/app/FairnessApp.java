// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.LightChanges;
import org.slotwise.control.LightTold;
import org.slotwise.control.Ownership;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Topology;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingWays;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.Way;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/**
 * The application of a packet ring: the tables of its stations, ways around it, found anew when links are lost or come back, and, in
 * mode CONTROLLER, what stations may add to congested links. In the other modes stations tell each other, and it only shows what they report. A change is written to each
 * station as soon as that has answered the one before, and only what is another.
 */
public final class FairnessApp implements App<RingView> {
    /** Its name. */
    public static final String ID = "ring";
    private static final long NS_PER_US = 1000;
    private static final long SEQUENCES = 1L << 32;

    private final RingNetwork network;
    private final Topology topology;
    private final Ownership owns;
    private final RingTables tables;
    private final Spans spans;
    private final LightChanges light = new LightChanges();
    private final List<State> states = new ArrayList<>();
    private final List<StationSettings> settings = new ArrayList<>();
    private final Map<ReportRefusal, Long> refused = new EnumMap<>(ReportRefusal.class);
    /** By station and ringlet; of those that were told something. */
    private final Map<Integer, Long> sequences = new HashMap<>();
    private RingMode mode;
    private RingWays ways;
    private long lastBatch;
    private long reroutes;
    private long writeFailures;
    private long reports;
    private long messages;
    private List<Command> commands = new ArrayList<>();

    /** One station. */
    private static final class State extends KeptSwitch {
        private final int number;

        State(int number, DeviceId device) {
            super(device);
            this.number = number;
        }
    }

    /** Takes a ring, of which all links have light. */
    public FairnessApp(RingNetwork network) {
        this.network = network;
        this.topology = network.topology();
        this.owns = Ownership.tablesOf(network.devices(), RingTables.ALL);
        this.tables = new RingTables(network);
        this.spans = new Spans(network);
        this.mode = network.mode();
        for (Station station : network.stations()) {
            states.add(new State(states.size(), station.device()));
            settings.add(new StationSettings(station.weight(), station.rules()));
        }
        for (ReportRefusal reason : ReportRefusal.values()) {
            refused.put(reason, 0L);
        }
        this.ways = new RingWays(network, this::hasLight);
    }

    @Override
    public String id() {
        return ID;
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public Ownership owns() {
        return owns;
    }

    /** Reports of its stations. */
    @Override
    public boolean claims(Event.PacketIn packet) {
        return network.number(packet.device()).isPresent() && Report.isOne(packet.frame());
    }

    @Override
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        spans.expire(nowNs);
        if (event instanceof Event.AtDevice) {
            DeviceId device = ((Event.AtDevice) event).device();
            State state = states.get(network.number(device).orElseThrow(
                    () -> new IllegalArgumentException("device " + device + " is not in this ring")));
            onDeviceEvent(nowNs, state, (Event.AtDevice) event);
        } else if (event instanceof Event.DeadlineReached) {
            reroute();
        } else if (event instanceof RingChoice) {
            choose((RingChoice) event);
        } else if (event instanceof LightTold) {
            LightTold told = (LightTold) event;
            // Whoever checked it may have seen the network before this one.
            network.number(told.device()).ifPresent(number -> onPort(nowNs, states.get(number), told.port(), told.isUp()));
        }
        states.forEach(this::write);
        return commands;
    }

    private void onDeviceEvent(long nowNs, State state, Event.AtDevice event) {
        if (event instanceof Event.DeviceLost) {
            spans.forget(state.number);
        } else if (event instanceof Event.PortChanged) {
            Event.PortChanged change = (Event.PortChanged) event;
            onPort(nowNs, state, change.port(), change.isUp());
        } else if (event instanceof Event.PacketIn) {
            onReport(nowNs, state, (Event.PacketIn) event);
        }
        if (state.hear(event)) {
            writeFailures++;
            commands.add(new Command.ReadTables(state.id()));
        }
    }

    // ---- ways ----

    private void onPort(long nowNs, State state, int port, boolean isUp) {
        if (network.ringPorts(state.number).contains(port)) {
            light.note(nowNs, state.dark(), state.id(), port, isUp);
        }
    }

    /** A link has light if both of its ends see it. */
    private boolean hasLight(int link) {
        return !states.get(link).dark().contains(WireConstants.PORT_RING_EAST)
                && !states.get(network.downstream(link, 0)).dark().contains(WireConstants.PORT_RING_WEST);
    }

    private void reroute() {
        light.take().ifPresent(this::reroute);
    }

    private void reroute(String cause) {
        RingWays next = new RingWays(network, this::hasLight);
        int different = 0;
        for (State state : states) {
            int own = 0;
            for (int other = 0; other < states.size(); other++) {
                own += other == state.number || ways.way(state.number, other).equals(next.way(state.number, other)) ? 0 : 1;
            }
            if (own > 0) {
                state.change();
            }
            different += own;
        }
        ways = next;
        if (different > 0) {
            reroutes++;
            commands.add(new WaysChanged(cause, different));
        }
    }

    // ---- what is chosen ----

    /** Whoever checked a choice may have seen the network before this one. */
    private void choose(RingChoice choice) {
        if (choice instanceof RingChoice.Mode) {
            RingMode next = ((RingChoice.Mode) choice).mode();
            if (next != mode) {
                mode = next;
                spans.begin(mode);
                states.forEach(KeptSwitch::change);
            }
        } else if (choice instanceof RingChoice.Weight) {
            RingChoice.Weight weight = (RingChoice.Weight) choice;
            network.number(weight.device()).ifPresent(number ->
                    change(number, new StationSettings(weight.weight(), settings.get(number).rules())));
        } else if (choice instanceof RingChoice.Classes) {
            RingChoice.Classes classes = (RingChoice.Classes) choice;
            network.number(classes.device())
                    .filter(number -> network.stations().get(number).hostPorts().equals(classes.ports()))
                    .ifPresent(number -> change(number, new StationSettings(settings.get(number).weight(), classes.rules())));
        }
    }

    private void change(int station, StationSettings next) {
        settings.set(station, next);
        states.get(station).change();
    }

    // ---- what stations may add ----

    private void onReport(long nowNs, State state, Event.PacketIn packet) {
        try {
            if (mode != RingMode.CONTROLLER && network.timing().watchIntervals() == 0) {
                throw new Report.RefusedException(ReportRefusal.UNEXPECTED_PORT);
            }
            Report report = Report.read(network, state.number, packet.port(), packet.frame());
            List<Integer> members = spans.onReport(nowNs, report, settings);
            reports++;
            members.forEach(member -> tell(nowNs, member, report.ringlet()));
        } catch (Report.RefusedException e) {
            refused.merge(e.reason(), 1L, Long::sum);
        }
    }

    /** All that holds for a station on a ringlet, since each message takes the place of the one before. */
    private void tell(long nowNs, int station, int ringlet) {
        // By time at first, so that a controller that begins anew is not behind the one before.
        long sequence = sequences.merge(station * WireConstants.RINGLETS + ringlet, Math.floorMod(nowNs / NS_PER_US, SEQUENCES),
                (last, first) -> (last + 1) % SEQUENCES);
        byte[] message = FairnessMessage.encode(
                network.stations().get(station), station, ringlet, sequence, spans.limits(station, ringlet));
        commands.add(new Command.PacketOut(network.stations().get(station).device(), WireConstants.PORT_SELF, message));
        messages++;
    }

    // ---- tables ----

    private void write(State state) {
        if (!state.takeChange()) {
            return;
        }
        List<Update> updates = state.changesTo(tables.entries(state.number, settings.get(state.number), mode, ways));
        if (!updates.isEmpty()) {
            commands.add(state.startWrite(++lastBatch, updates));
        }
    }

    /** At once, after what has happened already; or when something that was told is to be forgotten. */
    @Override
    public OptionalLong nextDeadlineNs() {
        return light.isPending() ? light.deadlineNs() : spans.nextExpiryNs();
    }

    @Override
    public boolean isConfigured() {
        return states.stream().allMatch(KeptSwitch::isConfigured);
    }

    @Override
    public RingView view() {
        List<RingView.StationView> stations = new ArrayList<>();
        for (State state : states) {
            SortedMap<Integer, Way> own = new TreeMap<>();
            for (int other = 0; other < states.size(); other++) {
                int to = other;
                if (other != state.number) {
                    ways.way(state.number, other).ifPresent(way -> own.put(to, way));
                }
            }
            stations.add(new RingView.StationView(state.isReady(), !light.isPending() && state.isCurrent(),
                    settings.get(state.number), state.dark(), own));
        }
        return new RingView(network, isConfigured(), mode, stations, spans.view(),
                new RingView.Counts(reroutes, writeFailures, reports, messages, refused));
    }
}

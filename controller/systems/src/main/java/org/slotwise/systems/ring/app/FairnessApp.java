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
import java.util.function.ToIntFunction;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.Ownership;
import org.slotwise.control.PathApp;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingWays;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.systems.ring.model.Way;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/**
 * The application of a packet ring: the tables of its stations, ways around it, found anew when links are lost or come back, and, in
 * mode CONTROLLER, what stations may add to congested links. In the other modes stations tell each other, and it only shows what they report. A change is written to each
 * station as soon as that has answered the one before, and only what is another.
 */
public final class FairnessApp extends PathApp<FairnessApp.State, RingView> {
    /** Its name. */
    public static final String ID = "ring";
    private static final long NS_PER_US = 1000;
    private static final long SEQUENCES = 1L << 32;

    private final RingNetwork network;
    private final RingTables tables;
    private final Spans spans;
    private final List<State> states = new ArrayList<>();
    private final List<StationSettings> settings = new ArrayList<>();
    private final Map<ReportRefusal, Long> refused = new EnumMap<>(ReportRefusal.class);
    /** By station and ringlet; of those that were told something. */
    private final Map<Integer, Long> sequences = new HashMap<>();
    private RingMode mode;
    private RingWays ways;
    private long reports;
    private long messages;

    /** One station. */
    static final class State extends KeptSwitch {
        private final int number;

        State(int number, DeviceId device) {
            super(device);
            this.number = number;
        }
    }

    /** Takes a ring, of which all links have light. */
    public FairnessApp(RingNetwork network) {
        super(ID, network.topology(), Ownership.tablesOf(network.devices(), RingTables.ALL));
        this.network = network;
        this.tables = new RingTables(network);
        this.spans = new Spans(network);
        this.mode = network.mode();
        for (Station station : network.stations()) {
            State state = new State(states.size(), station.device());
            states.add(state);
            add(state);
            settings.add(new StationSettings(station.weight(), station.rules()));
        }
        for (ReportRefusal reason : ReportRefusal.values()) {
            refused.put(reason, 0L);
        }
        this.ways = new RingWays(network, this::hasLight);
    }

    /** Reports of its stations. */
    @Override
    public boolean claims(Event.PacketIn packet) {
        return network.number(packet.device()).isPresent() && Report.isOne(packet.frame());
    }

    @Override
    protected void handle(Event event) {
        spans.expire(nowNs());
        super.handle(event);
    }

    @Override
    protected void onDeviceEvent(State state, Event.AtDevice event) {
        if (event instanceof Event.DeviceLost) {
            spans.forget(state.number);
        } else if (event instanceof Event.PacketIn) {
            onReport(state, (Event.PacketIn) event);
        } else {
            super.onDeviceEvent(state, event);
        }
    }

    // ---- ways ----

    @Override
    protected boolean leadsBy(State state, int port) {
        return network.ringPorts(state.number).contains(port);
    }

    /** A link has light if both of its ends see it. */
    private boolean hasLight(int link) {
        return !states.get(link).dark().contains(WireConstants.PORT_RING_EAST)
                && !states.get(network.downstream(link, 0)).dark().contains(WireConstants.PORT_RING_WEST);
    }

    @Override
    protected ToIntFunction<State> findPaths() {
        RingWays before = ways;
        ways = new RingWays(network, this::hasLight);
        return state -> (int) states.stream().filter(other -> other != state
                && !before.way(state.number, other.number).equals(ways.way(state.number, other.number))).count();
    }

    @Override
    protected String paths() {
        return "ring paths";
    }

    // ---- what is chosen ----

    /** Sets the fairness mode of all stations. */
    public void setMode(RingMode next) {
        if (next != mode) {
            mode = next;
            spans.begin(mode);
            states.forEach(KeptSwitch::change);
        }
    }

    /** Sets the weight of a station; ignores an unknown station. */
    public void setWeight(DeviceId device, int weight) {
        network.number(device).ifPresent(station -> change(station, new StationSettings(weight, settings.get(station).rules())));
    }

    /** Sets all classes of a station; ignores an unknown station, and one with other ports. */
    public void setClasses(Station of, List<TrafficRule> rules) {
        network.number(of.device())
                .filter(station -> network.stations().get(station).hostPorts().equals(of.hostPorts()))
                .ifPresent(station -> change(station, new StationSettings(settings.get(station).weight(), rules)));
    }

    private void change(int station, StationSettings next) {
        settings.set(station, next);
        states.get(station).change();
    }

    // ---- what stations may add ----

    private void onReport(State state, Event.PacketIn packet) {
        try {
            if (mode != RingMode.CONTROLLER && network.timing().watchIntervals() == 0) {
                throw new Report.RefusedException(ReportRefusal.UNEXPECTED_PORT);
            }
            Report report = Report.read(network, state.number, packet.port(), packet.frame());
            List<Integer> members = spans.onReport(nowNs(), report, settings);
            reports++;
            members.forEach(member -> tell(member, report.ringlet()));
        } catch (Report.RefusedException e) {
            refused.merge(e.reason(), 1L, Long::sum);
        }
    }

    /** All that holds for a station on a ringlet, since each message takes the place of the one before. */
    private void tell(int station, int ringlet) {
        // By time at first, so that a controller that begins anew is not behind the one before.
        long sequence = sequences.merge(station * WireConstants.RINGLETS + ringlet, Math.floorMod(nowNs() / NS_PER_US, SEQUENCES),
                (last, first) -> (last + 1) % SEQUENCES);
        byte[] message = FairnessMessage.encode(
                network.stations().get(station), station, ringlet, sequence, spans.limits(station, ringlet));
        send(new Command.PacketOut(network.stations().get(station).device(), WireConstants.PORT_SELF, message));
        messages++;
    }

    // ---- tables ----

    @Override
    protected List<Update> changes(State state) {
        return state.changesTo(tables.entries(state.number, settings.get(state.number), mode, ways));
    }

    /** At once, after what has happened already; or when something that was told is to be forgotten. */
    @Override
    public OptionalLong nextDeadlineNs() {
        OptionalLong changes = super.nextDeadlineNs();
        return changes.isPresent() ? changes : spans.nextExpiryNs();
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
            stations.add(new RingView.StationView(status(state), settings.get(state.number), own));
        }
        return new RingView(network, isConfigured(), mode, stations, spans.view(),
                new RingView.Counts(reroutes(), writeFailures(), reports, messages, refused));
    }
}

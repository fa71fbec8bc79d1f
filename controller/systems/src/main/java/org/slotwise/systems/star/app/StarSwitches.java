// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.slotwise.control.Command;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.tables.MemberOrder;
import org.slotwise.systems.star.tables.ScheduleReader;
import org.slotwise.systems.star.tables.SwitchRules;

/** The switches of a star: what each has, what it should have, and the writes that lead there. */
final class StarSwitches {
    private final Network network;
    private final SwitchRules rules;
    private final ScheduleReader reader;
    private final Attendance attendance;
    private final LongSupplier batches;
    private final Statistics.Recorder statistics;
    private final Map<DeviceId, DeviceState> devices = new LinkedHashMap<>();
    /**
     * The master, then the slaves. The core is configured as soon as it is there, before all others and whoever is missing: light
     * must find its connection when an edge sends a request.
     */
    private final List<List<DeviceState>> configurationStages = new ArrayList<>();

    StarSwitches(Network network, Attendance attendance, LongSupplier batches, Statistics.Recorder statistics) {
        this.network = network;
        this.rules = new SwitchRules(network);
        this.reader = new ScheduleReader(network);
        this.attendance = attendance;
        this.batches = batches;
        this.statistics = statistics;
        add(network.core().device(), DeviceState.NO_EDGE);
        configurationStages.add(List.of(add(network.master().device(), masterPlace())));
        List<DeviceState> slaves = new ArrayList<>();
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (edge != masterPlace()) {
                slaves.add(add(network.edges().get(edge).device(), edge));
            }
        }
        configurationStages.add(slaves);
    }

    private DeviceState add(DeviceId id, int edge) {
        DeviceState device = new DeviceState(id, edge);
        devices.put(id, device);
        return device;
    }

    private int masterPlace() {
        return network.indexOf(network.master().id()).orElseThrow();
    }

    /** Throws IllegalArgumentException for a device that is not in this star. */
    DeviceState get(DeviceId id) {
        DeviceState device = devices.get(id);
        if (device == null) {
            throw new IllegalArgumentException("device " + id + " is not in this network");
        }
        return device;
    }

    DeviceState core() {
        return get(network.core().device());
    }

    DeviceState master() {
        return get(network.master().device());
    }

    DeviceState edge(int place) {
        return get(network.edges().get(place).device());
    }

    boolean isSlave(DeviceState device) {
        return device.edge() != DeviceState.NO_EDGE && device.edge() != masterPlace();
    }

    /** Whether schedules need this switch: all but slaves that were lost. */
    boolean counts(DeviceState device) {
        return !isSlave(device) || attendance.takesPart(device.edge());
    }

    /** Whether all switches that count are there and have answered every write. */
    boolean areSettled() {
        return devices.values().stream().allMatch(device -> device.isSettled() || !counts(device));
    }

    Set<DeviceId> ready() {
        Set<DeviceId> ready = new HashSet<>();
        devices.values().stream().filter(DeviceState::isReady).forEach(device -> ready.add(device.id()));
        return ready;
    }

    /** Switches to configure at once: first the master, then slaves; empty when that was all. */
    Optional<List<DeviceState>> configurationStage(int stage) {
        return stage < configurationStages.size() ? Optional.of(configurationStages.get(stage)) : Optional.empty();
    }

    /** Writes what does not depend on the schedule. Data slots of both banks stay: one of them may be in force. */
    void configure(DeviceState device, Map<Integer, MemberOrder> orders, Collection<Command> commands) {
        write(device, configuration(device, orders),
                entry -> SwitchRules.isFixed(entry) || rules.isSignaling(entry), commands);
    }

    /** Writes what does not depend on the schedule, and leaves no data slot in either bank. */
    void configureDark(DeviceState device, Map<Integer, MemberOrder> orders, Collection<Command> commands) {
        write(device, configuration(device, orders),
                entry -> SwitchRules.isFixed(entry) || SwitchRules.isScheduled(entry), commands);
    }

    /** Takes the data slots of both banks from all edges that can be written now. The core keeps what light it may still get. */
    void darken(Collection<Command> commands) {
        for (DeviceState device : devices.values()) {
            if (device.isSettled() && device.edge() != DeviceState.NO_EDGE) {
                write(device, List.of(), entry -> SwitchRules.isScheduled(entry) && !rules.isSignaling(entry), commands);
            }
        }
    }

    /** Writes what the master sends to whom; false if there is nothing to change. */
    boolean orderMaster(Map<Integer, MemberOrder> orders, Collection<Command> commands) {
        return write(master(), rules.masterMessages(orders, attendance.withoutBeacon()), SwitchRules::isMessage, commands);
    }

    /** Writes a schedule to a bank of all switches that count. */
    void stage(FrameSchedule schedule, int bank, Collection<Command> commands) {
        for (DeviceState device : devices.values()) {
            if (counts(device)) {
                List<TableEntry> desired = device.edge() == DeviceState.NO_EDGE
                        ? rules.bankRules(network.core(), bank, schedule)
                        : rules.bankRules(network.edges().get(device.edge()), bank, schedule);
                write(device, desired, entry -> SwitchRules.inBank(entry, bank), commands);
            }
        }
    }

    /** The schedule that the core's tables have in a bank, and, where edges share its ports, theirs. */
    FrameSchedule scheduleInCore(int bank) {
        return reader.read(core().tables().entries(entry -> true),
                place -> edge(place).tables().entries(entry -> true), bank);
    }

    private List<TableEntry> configuration(DeviceState device, Map<Integer, MemberOrder> orders) {
        List<TableEntry> desired = new ArrayList<>();
        if (device.edge() == DeviceState.NO_EDGE) {
            desired.addAll(rules.fixedRules(network.core()));
        } else {
            Edge edge = network.edges().get(device.edge());
            desired.addAll(rules.fixedRules(edge, attendance.withoutBeacon()));
            if (edge == network.master()) {
                desired.addAll(rules.memberRules(orders));
            }
        }
        for (int bank = 0; bank < SwitchRules.BANKS; bank++) {
            desired.addAll(device.edge() == DeviceState.NO_EDGE
                    ? rules.signalingRules(network.core(), bank)
                    : rules.signalingRules(network.edges().get(device.edge()), bank));
        }
        return desired;
    }

    private boolean write(DeviceState device, List<TableEntry> desired, Predicate<TableEntry> scope,
            Collection<Command> commands) {
        List<Update> updates = device.tables().changesTo(desired, scope);
        if (updates.isEmpty()) {
            return false;
        }
        commands.add(device.startWrite(batches.getAsLong(), updates));
        statistics.count(Counter.WRITE_BATCHES);
        statistics.count(Counter.WRITE_UPDATES, updates.size());
        return true;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;

/** Keeps what it is told, and answers what a test says. */
public final class RecordingApp extends App<Integer> {
    /** Of events, in order. */
    public final List<Event> events = new ArrayList<>();
    /** When it wants to be woken. */
    public OptionalLong deadlineNs = OptionalLong.empty();
    private Function<Event, List<Command>> next = event -> List.of();
    private Set<String> orders = Set.of();

    /** An order. */
    public static final class Ask extends Event.Order {
    }

    /** Something to tell. */
    public static final class Told extends Command.Notice {
        /** Without anything. */
        public Told() {
            super("recording", "told", "told");
        }
    }

    /** Takes a name, a program for all its switches, and what it owns. */
    RecordingApp(String id, String program, Ownership owns) {
        super(id, topology(program, owns), owns);
    }

    private static Topology topology(String program, Ownership owns) {
        Topology.Builder nodes = new Topology.Builder();
        owns.devices().forEach(device -> nodes.node(new Node(device, "n" + device, program)));
        return nodes.build();
    }

    /** One that owns all of some switches. */
    public static RecordingApp of(String id, long... devices) {
        return new RecordingApp(id, "program", Ownership.allOf(devices(devices)));
    }

    static List<DeviceId> devices(long... numbers) {
        List<DeviceId> devices = new ArrayList<>();
        for (long number : numbers) {
            devices.add(DeviceId.of(number));
        }
        return devices;
    }

    /** An entry of a table. */
    static TableEntry entry(String table) {
        return TableEntry.in(table).action("act").build();
    }

    /** A batch of one entry. */
    static Command.Write write(long device, long batch, String table) {
        return new Command.Write(DeviceId.of(device), batch, List.of(new Update(Update.Type.INSERT, entry(table))));
    }

    /** What it answers to the next event, and only to that. */
    public void onNext(Function<Event, List<Command>> answer) {
        next = answer;
    }

    /** One that gives orders to another, if it does so. */
    RecordingApp orderingTo(String other) {
        orders = Set.of(other);
        return this;
    }

    @Override
    public Set<String> orders() {
        return orders;
    }

    @Override
    public boolean claims(Event.PacketIn packet) {
        return owns().devices().contains(packet.device()) && packet.port() == 1;
    }

    @Override
    protected void handle(Event event) {
        events.add(event);
        Function<Event, List<Command>> answer = next;
        next = any -> List.of();
        answer.apply(event).forEach(this::send);
    }

    @Override
    public OptionalLong nextDeadlineNs() {
        return deadlineNs;
    }

    @Override
    public boolean isConfigured() {
        return !events.isEmpty();
    }

    @Override
    public Integer view() {
        return events.size();
    }
}

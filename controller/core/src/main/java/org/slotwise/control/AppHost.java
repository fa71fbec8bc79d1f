// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;

/**
 * Applications side by side: each is told what concerns it, and what they want is one list. A switch may be in several; each
 * sees of its tables only those that it owns. Pure, like its applications.
 */
public final class AppHost {
    private static final Pattern ID = Pattern.compile("[a-z][a-z0-9-]{0,31}");

    private final List<App<?>> apps;
    private final Topology topology;
    private long unclaimedPackets;

    /** Two applications that cannot run side by side; says which, and why. */
    public static final class ConflictException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        ConflictException(String reason) {
            super(reason);
        }
    }

    /**
     * Creates a host of at least one application; a packet goes to the first one in this order that claims it. Throws
     * {@link ConflictException} if two applications have the same name, own the same table, or need different programs on one switch;
     * if one sends requests to a missing application, or to one that does not accept them; or if one owns tables of an unknown switch.
     */
    public AppHost(List<? extends App<?>> apps) {
        if (apps.isEmpty()) {
            throw new ConflictException("no applications; expected at least one");
        }
        this.apps = List.copyOf(apps);
        for (int i = 0; i < apps.size(); i++) {
            App<?> app = apps.get(i);
            if (!ID.matcher(app.id()).matches()) {
                throw new ConflictException("invalid application name '" + app.id() + "'; expected lower-case letters, digits and hyphens");
            }
            for (App<?> other : apps.subList(0, i)) {
                if (other.id().equals(app.id())) {
                    throw new ConflictException("duplicate application '" + app.id() + "'");
                }
                other.owns().overlap(app.owns()).ifPresent(common -> {
                    throw new ConflictException(
                            "applications '" + other.id() + "' and '" + app.id() + "' both own " + common);
                });
            }
        }
        for (App<?> app : apps) {
            for (String other : app.orders()) {
                if (app(other).isEmpty() || !app(other).orElseThrow().orders().isEmpty()) {
                    throw new ConflictException("application '" + app.id() + "': cannot send requests to application '" + other
                            + "', which is missing or sends requests itself");
                }
                app.conflict(app(other).orElseThrow()).ifPresent(reason -> {
                    throw new ConflictException("application '" + app.id() + "': cannot send requests to application '" + other + "': " + reason);
                });
            }
        }
        try {
            this.topology = Topology.union(parts(this.apps));
        } catch (IllegalArgumentException e) {
            throw new ConflictException(e.getMessage());
        }
        Set<DeviceId> devices = topology.nodes().stream().map(Node::device).collect(Collectors.toSet());
        for (App<?> app : apps) {
            app.owns().devices().stream().filter(device -> !devices.contains(device)).findFirst().ifPresent(device -> {
                throw new ConflictException("application '" + app.id() + "': device " + device + " is not in the network");
            });
        }
    }

    private static List<Topology> parts(List<App<?>> apps) {
        List<Topology> parts = new ArrayList<>();
        apps.forEach(app -> parts.add(app.topology()));
        return parts;
    }

    /** The applications, in order. */
    public List<App<?>> apps() {
        return apps;
    }

    /** An application by name. */
    public Optional<App<?>> app(String id) {
        return apps.stream().filter(app -> app.id().equals(id)).findFirst();
    }

    /** The networks of all of them as one. */
    public Topology topology() {
        return topology;
    }

    /** Packet-ins that no application wanted. */
    public long unclaimedPackets() {
        return unclaimedPackets;
    }

    /** Tells whom it concerns of an event that is no order, and returns what they want done, in order. */
    public List<Command> onEvent(long nowNs, Event event) {
        List<Command> commands = new ArrayList<>();
        if (event instanceof Event.PacketIn) {
            Optional<App<?>> app = apps.stream().filter(one -> one.claims((Event.PacketIn) event)).findFirst();
            if (app.isPresent()) {
                tell(nowNs, apps.indexOf(app.get()), event, commands);
            } else {
                unclaimedPackets++;
            }
        } else if (event instanceof Event.WriteDone) {
            Event.WriteDone done = (Event.WriteDone) event;
            tell(nowNs, writer(done.batch()), new Event.WriteDone(done.device(), ownBatch(done.batch())), commands);
        } else if (event instanceof Event.WriteFailed) {
            Event.WriteFailed failed = (Event.WriteFailed) event;
            tell(nowNs, writer(failed.batch()), new Event.WriteFailed(failed.device(), ownBatch(failed.batch())), commands);
        } else if (event instanceof Event.DeviceReady) {
            Event.DeviceReady ready = (Event.DeviceReady) event;
            for (int app = 0; app < apps.size(); app++) {
                if (has(app, ready.device())) {
                    tell(nowNs, app, new Event.DeviceReady(
                            ready.device(), apps.get(app).owns().of(ready.device(), ready.entries())), commands);
                }
            }
        } else if (event instanceof Event.AtDevice) {
            for (int app = 0; app < apps.size(); app++) {
                if (has(app, ((Event.AtDevice) event).device())) {
                    tell(nowNs, app, event, commands);
                }
            }
        } else if (event instanceof Event.DeadlineReached) {
            for (int app = 0; app < apps.size(); app++) {
                OptionalLong deadlineNs = apps.get(app).nextDeadlineNs();
                if (deadlineNs.isPresent() && deadlineNs.getAsLong() <= nowNs) {
                    tell(nowNs, app, event, commands);
                }
            }
        } else {
            throw new IllegalArgumentException("application request without a recipient");
        }
        return commands;
    }

    /** Gives an order to one application; IllegalArgumentException if there is none of that name. */
    public List<Command> onOrder(long nowNs, String id, Event.Order order) {
        List<Command> commands = new ArrayList<>();
        App<?> app = app(id).orElseThrow(() -> new IllegalArgumentException("unknown application '" + id + "'"));
        tell(nowNs, apps.indexOf(app), order, commands);
        return commands;
    }

    private boolean has(int app, DeviceId device) {
        return apps.get(app).owns().devices().contains(device);
    }

    private void tell(long nowNs, int app, Event event, List<Command> commands) {
        for (Command command : apps.get(app).onEvent(nowNs, event)) {
            if (command instanceof Command.ToApp) {
                Command.ToApp order = (Command.ToApp) command;
                if (!apps.get(app).orders().contains(order.app())) {
                    throw new IllegalStateException("application '" + apps.get(app).id() + "': undeclared request to '" + order.app() + "'");
                }
                commands.addAll(onOrder(nowNs, order.app(), order.order()));
            } else {
                commands.add(command instanceof Command.Write ? numbered(app, (Command.Write) command) : command);
            }
        }
    }

    /** With the number by which its answer finds its application again. */
    private Command.Write numbered(int app, Command.Write write) {
        Optional<Update> foreign = apps.get(app).owns().foreign(write);
        if (foreign.isPresent()) {
            throw new IllegalStateException("application '" + apps.get(app).id() + "': write to device " + write.device()
                    + ": entry not owned: " + foreign.get());
        }
        return apps.size() == 1 ? write
                : new Command.Write(write.device(), write.batch() * apps.size() + app, write.updates());
    }

    private int writer(long batch) {
        return (int) (batch % apps.size());
    }

    private long ownBatch(long batch) {
        return batch / apps.size();
    }

    /** When {@link Event.DeadlineReached} is wanted if nothing else happens. */
    public OptionalLong nextDeadlineNs() {
        return apps.stream().map(App::nextDeadlineNs).flatMapToLong(OptionalLong::stream).min();
    }

    /** Whether all applications are configured. */
    public boolean isConfigured() {
        return apps.stream().allMatch(App::isConfigured);
    }
}

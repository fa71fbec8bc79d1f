// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.core.Event;
import org.slotwise.core.network.DeviceId;
import org.slotwise.lockstep.Advance;
import org.slotwise.lockstep.Done;

/**
 * Time is the fabric's: it stands still until every stream has brought the same {@link Advance}, then all packets
 * that came before happen at that time, in the order of devices, and the fabric gets {@link Done}. Nothing depends on
 * how fast this machine is. A switch that stops is called again at once, but the fabric answers when it is there again;
 * that it was lost, and that it is back, happens in the next turn.
 */
public final class LockstepDriver extends Driver {
    private static final Logger LOG = LoggerFactory.getLogger(LockstepDriver.class);

    private final Map<DeviceId, List<Event.PacketIn>> packets = new TreeMap<>();
    private final Map<DeviceId, Advance> advances = new TreeMap<>();
    /** Known as lost to the controller. */
    private final Set<DeviceId> lost = new TreeSet<>();
    /** There again, to be configured in the next turn. */
    private final Set<DeviceId> returned = new TreeSet<>();
    /** Called again and not there yet. */
    private final Set<DeviceId> called = new TreeSet<>();
    /** Questions to switches in the order in which they were asked, which is the order of their answers. */
    private final Deque<Runnable> awaited = new ArrayDeque<>();
    private boolean settling;
    private boolean saidReady;
    private long nowNs;
    private long packetOuts;

    /** Takes what it needs; does nothing before {@link #start}. */
    public LockstepDriver(Setup setup) {
        super(setup, true);
    }

    @Override
    long nowNs() {
        return nowNs;
    }

    @Override
    void onPacketIn(DeviceSession session, Event.PacketIn packet) {
        packets.computeIfAbsent(session.device(), device -> new ArrayList<>()).add(packet);
    }

    @Override
    void onOther(DeviceSession session, Any message) {
        Advance advance;
        try {
            advance = message.unpack(Advance.class);
        } catch (InvalidProtocolBufferException e) {
            LOG.warn("device {}: a message that is no Advance: {}", session.device(), e.getMessage());
            return;
        }
        advances.put(session.device(), advance);
        boolean all = advances.size() == sessions().size() - advance.getAbsentDevicesCount();
        if (all && advances.values().stream().allMatch(other -> other.getSequence() == advance.getSequence())) {
            advances.clear();
            advance(advance);
        }
    }

    private void advance(Advance advance) {
        nowNs = advance.getNowNs();
        advance.getAbsentDevicesList().forEach(device -> lose(DeviceId.of(device)));
        returned.forEach(this::lose);
        for (DeviceId device : List.copyOf(returned)) {
            returned.remove(device);
            lost.remove(device);
            tables().read(device);
            settle();
        }
        List<Event.PacketIn> due = new ArrayList<>();
        packets.values().forEach(due::addAll);
        packets.clear();
        due.forEach(this::deliver);
        OptionalLong deadlineNs = controller().nextDeadlineNs();
        if (deadlineNs.isPresent() && deadlineNs.getAsLong() <= nowNs) {
            deliver(new Event.DeadlineReached());
        }
        done(advance.getSequence());
    }

    private void lose(DeviceId device) {
        if (sessions().containsKey(device) && lost.add(device)) {
            deliver(new Event.DeviceLost(device));
        }
    }

    private void done(long sequence) {
        Done done = Done.newBuilder().setSequence(sequence).setPacketOuts(packetOuts)
                .setNextDeadlineNs(controller().nextDeadlineNs().orElse(0)).build();
        sessions().values().stream().filter(DeviceSession::isPrimary).findFirst()
                .ifPresent(session -> session.sendOther(Any.pack(done)));
    }

    @Override
    void onPacketOut() {
        packetOuts++;
    }

    /** The answer happens in {@link #settle}: when it came is of no account. */
    @Override
    <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
        CompletableFuture<T> awaitedAnswer = new CompletableFuture<>();
        awaited.add(() -> {
            try {
                awaitedAnswer.complete(answer.get());
            } catch (ExecutionException e) {
                awaitedAnswer.completeExceptionally(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                fail(e);
            }
        });
        return awaitedAnswer;
    }

    @Override
    void onAnswer(Runnable task) {
        task.run();
    }

    /** Waits for all answers, and for those to what they lead to. */
    private void settle() {
        if (settling) {
            return;
        }
        settling = true;
        while (!awaited.isEmpty()) {
            awaited.remove().run();
        }
        settling = false;
    }

    @Override
    void afterEvent() {
        settle();
        if (!saidReady && controller().isConfigured()) {
            saidReady = true;
            done(0);
        }
    }

    @Override
    void onPrimary(DeviceSession session) {
        called.remove(session.device());
        if (saidReady) {
            returned.add(session.device());
        } else {
            tables().read(session.device());
            settle();
        }
    }

    @Override
    void onLost(DeviceSession session) {
        returned.remove(session.device());
        if (called.add(session.device())) {
            session.connect();
        } else {
            LOG.info("device {}: the fabric has ended; no time passes any more", session.device());
        }
    }

    @Override
    void readAgain(DeviceSession session) {
        fail(new IllegalStateException(
                "device " + session.device() + " refused a write, so that this run cannot be repeated"));
    }
}

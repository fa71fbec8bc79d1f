// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.lockstep.Advance;
import org.slotwise.lockstep.Done;

/**
 * Time is the fabric's: it stands still until every stream has brought the same {@link Advance}, then all packets
 * that came before happen at that time, in the order of devices, and the fabric gets {@link Done}. Nothing depends on
 * how fast this machine is. A switch that stops is called again at once, but the fabric answers when it is there again;
 * that it was lost, and that it is back, happens in the next turn. What an application is ordered between two turns happens at once, at
 * the time of the last one; if it wants something then, the fabric is told so and gives it a turn.
 */
public final class LockstepDriver extends Driver {
    private static final Logger LOG = LoggerFactory.getLogger(LockstepDriver.class);

    private final LockstepClock clock;
    /** What came from each switch since the last turn. */
    private final Map<DeviceId, List<Runnable>> arrived = new TreeMap<>();
    private final Map<DeviceId, Advance> advances = new TreeMap<>();
    /** Known as lost to the applications. */
    private final Set<DeviceId> lost = new TreeSet<>();
    /** There again, to be configured in the next turn. */
    private final Set<DeviceId> returned = new TreeSet<>();
    /** Called again and not there yet. */
    private final Set<DeviceId> called = new TreeSet<>();
    private boolean saidReady;
    private boolean isInTurn;
    private long packetOuts;
    /** End of the last turn, which the fabric knows. */
    private Done told = Done.getDefaultInstance();

    /** Takes what it needs; does nothing before {@link #start}. */
    public LockstepDriver(Setup setup) {
        this(setup, new LockstepClock());
    }

    private LockstepDriver(Setup setup, LockstepClock clock) {
        super(setup, true, thread -> clock);
        this.clock = clock;
        clock.whenSettled(this::callBetweenTurns);
    }

    @Override
    void onPacketIn(DeviceSession session, int port, byte[] frame) {
        arrive(session, () -> loop().packetIn(session.device(), port, frame));
    }

    @Override
    void onPort(DeviceSession session, int port, boolean up) {
        arrive(session, () -> loop().portChanged(session.device(), port, up));
    }

    private void arrive(DeviceSession session, Runnable event) {
        arrived.computeIfAbsent(session.device(), device -> new ArrayList<>()).add(event);
    }

    @Override
    void onOther(DeviceSession session, Any message) {
        Advance advance;
        try {
            advance = message.unpack(Advance.class);
        } catch (InvalidProtocolBufferException e) {
            LOG.warn("device {}: invalid Advance message: {}", session.device(), e.getMessage());
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
        isInTurn = true;
        clock.set(advance.getNowNs());
        advance.getAbsentDevicesList().forEach(device -> lose(DeviceId.of(device)));
        returned.forEach(this::lose);
        for (DeviceId device : List.copyOf(returned)) {
            returned.remove(device);
            lost.remove(device);
            read(device);
        }
        List<Runnable> due = new ArrayList<>();
        arrived.values().forEach(due::addAll);
        arrived.clear();
        due.forEach(Runnable::run);
        OptionalLong deadlineNs = loop().host().nextDeadlineNs();
        if (deadlineNs.isPresent() && deadlineNs.getAsLong() <= clock.nowNs()) {
            loop().deadlineReached();
        }
        // After a defect nothing is said any more, so that no time passes.
        if (!loop().isClosed()) {
            done(advance.getSequence());
        }
        isInTurn = false;
    }

    /** Says that the last turn ended otherwise than it was told, if an order has led to more since. */
    private void callBetweenTurns() {
        if (saidReady && !isInTurn && !loop().isClosed() && !told.equals(ended(told.getSequence()))) {
            done(told.getSequence());
        }
    }

    private void lose(DeviceId device) {
        if (sessions().containsKey(device) && lost.add(device)) {
            loop().lost(device);
        }
    }

    private void read(DeviceId device) {
        loop().read(device);
        clock.settle();
    }

    private void done(long sequence) {
        told = ended(sequence);
        sessions().values().stream().filter(DeviceSession::isPrimary).findFirst()
                .ifPresent(session -> session.sendOther(Any.pack(told)));
    }

    private Done ended(long sequence) {
        return Done.newBuilder().setSequence(sequence).setPacketOuts(packetOuts)
                .setNextDeadlineNs(loop().host().nextDeadlineNs().orElse(0)).build();
    }

    @Override
    void onPacketOut() {
        packetOuts++;
    }

    @Override
    <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
        return clock.asked(answer);
    }

    @Override
    void onConfigured() {
        saidReady = true;
        done(0);
    }

    @Override
    void onPrimary(DeviceSession session) {
        called.remove(session.device());
        if (saidReady) {
            returned.add(session.device());
        } else {
            read(session.device());
        }
    }

    @Override
    void onLost(DeviceSession session) {
        returned.remove(session.device());
        if (called.add(session.device())) {
            session.connect();
        } else {
            LOG.info("device {}: disconnected: end of the simulation", session.device());
        }
    }
}

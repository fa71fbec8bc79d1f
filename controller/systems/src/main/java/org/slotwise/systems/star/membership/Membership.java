// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.demand.FrameWindow;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.tables.MemberOrder;
import org.slotwise.wire.FaultCode;
import org.slotwise.wire.WireConstants;

/**
 * Invites edges, configures those that answer, and notices when one is gone. Pure: what happened and when comes in, and what
 * the master is to send to each edge comes out as {@link #orders}. In-band T_d itself is followed by the switches
 * (docs/protocols.md), and is only looked at here; out of band {@link #takeNotices} has what edges are to be told of it.
 *
 * <p>An invitation names its edge, so edges never answer at once. One that does not answer is invited again after a
 * time that doubles, up to {@value #LAST_BACK_OFF_FRAMES} frames.
 */
public final class Membership {
    /** Frames beyond the answer's time for messages on their way. */
    private static final int PATIENCE_FRAMES = 16;
    private static final int FIRST_BACK_OFF_FRAMES = 2;
    private static final int LAST_BACK_OFF_FRAMES = 64;
    /** Field width of a configuration. */
    private static final int MAX_HOLD_FRAMES = 0xffff;
    /** Until the master's tables are as ordered nothing is due. */
    private static final long NOT_YET = Long.MAX_VALUE;
    /** Measurements after which an edge has learnt how its clock runs. */
    private static final int LEARNING_MEASUREMENTS = 16;

    private final Network network;
    private final Record[] records;
    private final Map<MemberRefusal, Long> refusals = new EnumMap<>(MemberRefusal.class);
    private List<MemberNotice> notices = new ArrayList<>();
    private long masterFrame;
    private boolean masterHeard;
    private boolean shutDown;

    private static final class Record {
        private MemberState state = MemberState.ABSENT;
        private long session;
        private long phaseNs;
        private long errorNs;
        private long largestErrorNs;
        private long invitations;
        private long measurements;
        private final FrameWindow frames = new FrameWindow();
        /** Sequence number of this session's last fault; null before. */
        private Long lastFault;
        private long backOffFrames;
        /** When something is to be done if nothing is heard; NOT_YET if what is waited for has not been said yet. */
        private long deadlineNs;
        private final Map<FaultCode, Long> faults = new EnumMap<>(FaultCode.class);
    }

    /** Takes the network; without membership by invitation there is nothing to do. */
    public Membership(Network network) {
        this.network = network;
        this.records = new Record[network.byInvitation() ? network.edges().size() : 0];
        for (int edge = 0; edge < records.length; edge++) {
            records[edge] = new Record();
        }
        for (MemberRefusal reason : MemberRefusal.values()) {
            refusals.put(reason, 0L);
        }
    }

    /** Takes over sessions that a controller before has left in the master's tables. */
    public void adopt(long nowNs, List<TableEntry> masterEntries) {
        for (TableEntry entry : masterEntries) {
            for (int edge = 0; edge < records.length; edge++) {
                OptionalLong session = MemberOrder.sessionIn(entry, network, network.edges().get(edge));
                if (session.isPresent() && !isMaster(edge) && records[edge].state == MemberState.ABSENT) {
                    records[edge].session = session.getAsLong();
                    becomeJoined(nowNs, edge);
                }
            }
        }
    }

    /** The master is in this frame: invitations are numbered by it, so that they are newer than any before. */
    public void masterAt(long nowNs, long frame) {
        for (int edge = 0; edge < records.length && frame != masterFrame; edge++) {
            if (records[edge].state == MemberState.CONFIGURING) {
                notifyConfiguration(edge);
            }
        }
        masterFrame = frame;
        if (!masterHeard) {
            masterHeard = true;
            for (Record record : records) {
                record.deadlineNs = record.state == MemberState.ABSENT ? nowNs : record.deadlineNs;
            }
        }
    }

    /** Accepts an answer to an invitation, or counts why not. */
    public void onAnswer(DeviceId device, int port, Message.Answer message) {
        counted(() -> onAnswer(MemberMessage.of(network, device, port, message)));
    }

    /** Accepts a measurement of T_d, or counts why not. */
    public void onSync(long nowNs, DeviceId device, int port, Message.Sync message) {
        counted(() -> onSync(nowNs, MemberMessage.of(network, device, port, message)));
    }

    /** Accepts a fault, or counts why not. */
    public void onFault(long nowNs, DeviceId device, int port, Message.Fault message) {
        counted(() -> onFault(nowNs, MemberMessage.of(network, device, port, message)));
    }

    private interface Handler {
        void handle() throws MemberMessage.Refused;
    }

    private void counted(Handler handler) {
        try {
            handler.handle();
        } catch (MemberMessage.Refused refused) {
            refusals.merge(refused.reason(), 1L, Long::sum);
        }
    }

    private void onAnswer(MemberMessage message) throws MemberMessage.Refused {
        Record record = records[message.edge()];
        if (record.state != MemberState.INVITED || record.session != message.session()) {
            throw new MemberMessage.Refused(MemberRefusal.WRONG_SESSION);
        }
        record.state = MemberState.CONFIGURING;
        record.faults.clear();
        record.phaseNs = message.measuredNs();
        record.deadlineNs = NOT_YET;
        notifyConfiguration(message.edge());
    }

    private void onSync(long nowNs, MemberMessage message) throws MemberMessage.Refused {
        Record record = records[message.edge()];
        boolean known = record.state == MemberState.JOINED || record.state == MemberState.CONFIGURING;
        if (!known || record.session != message.session()) {
            throw new MemberMessage.Refused(MemberRefusal.WRONG_SESSION);
        }
        FrameWindow.Verdict verdict = record.frames.take(message.frame());
        if (verdict == FrameWindow.Verdict.STALE) {
            throw new MemberMessage.Refused(MemberRefusal.STALE);
        }
        if (verdict == FrameWindow.Verdict.TOO_FAR) {
            throw new MemberMessage.Refused(MemberRefusal.BAD_FIELD);
        }
        if (record.state == MemberState.CONFIGURING) {
            becomeJoined(nowNs, message.edge());
        }
        record.measurements++;
        record.phaseNs = message.measuredNs();
        record.errorNs = message.measuredNs() - message.usedNs();
        if (network.outOfBand()) {
            notices.add(MemberNotice.measurement(network, message));
        }
        if (record.measurements > LEARNING_MEASUREMENTS) {
            record.largestErrorNs = Math.max(record.largestErrorNs, Math.abs(record.errorNs));
        }
        record.faults.remove(FaultCode.SYNC_ERROR);
        record.deadlineNs = nowNs + frames(holdFrames(message.edge()) + PATIENCE_FRAMES);
    }

    private void onFault(long nowNs, MemberMessage message) throws MemberMessage.Refused {
        Record record = records[message.edge()];
        if (record.session != message.session()) {
            throw new MemberMessage.Refused(MemberRefusal.WRONG_SESSION);
        }
        // An edge numbers all that it signals, and begins anew with a new session only.
        if (record.lastFault != null && FrameNumber.difference(message.sequence(), record.lastFault) <= 0) {
            throw new MemberMessage.Refused(MemberRefusal.STALE);
        }
        record.lastFault = message.sequence();
        if (message.isOver()) {
            record.faults.remove(message.fault());
            return;
        }
        record.faults.putIfAbsent(message.fault(), nowNs);
        // The other faults do not silence an edge, or not yet: of light that is weak it can go on.
        if (message.fault() == FaultCode.SYNC_ERROR) {
            becomeAbsent(nowNs, message.edge());
        }
    }

    /** While the master is shut down nobody is invited; members leave as they hear of it. */
    public void shutDown(long nowNs, boolean down) {
        shutDown = down;
        for (int edge = 0; edge < records.length; edge++) {
            Record record = records[edge];
            if (down && (record.state == MemberState.INVITED || record.state == MemberState.CONFIGURING)) {
                becomeAbsent(nowNs, edge);
            } else if (!down && record.state == MemberState.ABSENT) {
                record.backOffFrames = 0;
                record.deadlineNs = nowNs;
            }
        }
    }

    /** Out of band it may be lost, so it is repeated with each frame of the master until the edge is heard. */
    private void notifyConfiguration(int edge) {
        if (network.outOfBand()) {
            Record record = records[edge];
            notices.add(MemberNotice.configuration(network, edge, record.session, holdFrames(edge), record.phaseNs));
        }
    }

    private void becomeJoined(long nowNs, int edge) {
        Record record = records[edge];
        record.state = MemberState.JOINED;
        record.measurements = 0;
        record.errorNs = 0;
        record.largestErrorNs = 0;
        record.backOffFrames = 0;
        record.deadlineNs = nowNs + frames(holdFrames(edge) + PATIENCE_FRAMES);
    }

    private void becomeAbsent(long nowNs, int edge) {
        Record record = records[edge];
        record.state = MemberState.ABSENT;
        record.backOffFrames = Math.min(LAST_BACK_OFF_FRAMES, Math.max(FIRST_BACK_OFF_FRAMES, 2 * record.backOffFrames));
        record.deadlineNs = nowNs + frames(record.backOffFrames);
    }

    /** Does what has come due. */
    public void onTime(long nowNs) {
        for (int edge = 0; edge < records.length && masterHeard; edge++) {
            Record record = records[edge];
            if (isMaster(edge) || nowNs < record.deadlineNs || rests(record)) {
                continue;
            }
            if (record.state == MemberState.ABSENT) {
                record.state = MemberState.INVITED;
                record.session = FrameNumber.plus(masterFrame, 1);
                record.frames.reset();
                record.lastFault = null;
                record.invitations++;
                record.deadlineNs = NOT_YET;
            } else {
                becomeAbsent(nowNs, edge);
            }
        }
    }

    /**
     * The master's tables are as {@link #orders} says. From then on edges are waited for: a configuration only for as long as an
     * edge that took it may go unmeasured, as T_d grows old.
     */
    public void ordersInForce(long nowNs) {
        for (int edge = 0; edge < records.length; edge++) {
            Record record = records[edge];
            if (record.deadlineNs == NOT_YET) {
                record.deadlineNs = nowNs + (record.state == MemberState.INVITED
                        ? answerNs(edge) + frames(PATIENCE_FRAMES) : frames(holdFrames(edge)));
            }
        }
    }

    /** When {@link #onTime} is wanted if nothing is heard. */
    public OptionalLong deadlineNs() {
        OptionalLong deadline = OptionalLong.empty();
        for (int edge = 0; edge < records.length && masterHeard; edge++) {
            long own = isMaster(edge) || rests(records[edge]) ? NOT_YET : records[edge].deadlineNs;
            if (own != NOT_YET && (deadline.isEmpty() || own < deadline.getAsLong())) {
                deadline = OptionalLong.of(own);
            }
        }
        return deadline;
    }

    /** What the master is to send to each slave, by the slave's place in the network. */
    public Map<Integer, MemberOrder> orders() {
        Map<Integer, MemberOrder> orders = new LinkedHashMap<>();
        for (int edge = 0; edge < records.length; edge++) {
            Record record = records[edge];
            if (isMaster(edge) || record.state == MemberState.ABSENT) {
                continue;
            }
            if (record.state == MemberState.INVITED) {
                orders.put(edge, MemberOrder.invite(record.session, answerNs(edge)));
            } else if (record.state == MemberState.CONFIGURING) {
                orders.put(edge, MemberOrder.configure(record.session, holdFrames(edge), record.phaseNs));
            } else {
                orders.put(edge, MemberOrder.keep(record.session));
            }
        }
        return orders;
    }

    /** What edges are to be told that they were not told yet; none in-band, where the master tells them. */
    public List<MemberNotice> takeNotices() {
        if (notices.isEmpty()) {
            return List.of();
        }
        List<MemberNotice> taken = notices;
        notices = new ArrayList<>();
        return taken;
    }

    /** What is known of each slave now; empty without membership by invitation. */
    public List<Member> members() {
        List<Member> members = new ArrayList<>();
        for (int edge = 0; edge < records.length; edge++) {
            Record record = records[edge];
            if (!isMaster(edge)) {
                members.add(new Member(network.edges().get(edge).id(), record.state, record.session,
                        record.invitations, record.measurements, record.phaseNs, record.errorNs,
                        record.largestErrorNs, record.faults));
            }
        }
        return members;
    }

    /** Messages that were not taken, by reason. */
    public Map<MemberRefusal, Long> refusals() {
        return new EnumMap<>(refusals);
    }

    /** The answer's light is to be in the middle of the edge's own slot of a later frame, by its fibre's length. */
    private long answerNs(int index) {
        Edge edge = network.edges().get(index);
        long wayNs = 2 * edge.fibre().delayNs();
        long openNs = network.frame().slotNs() - network.frame().guardNs();
        return frames(1 + wayNs / network.frame().frameNs()) + openNs / 2 - wayNs;
    }

    private int holdFrames(int index) {
        // There and back; out of band a result comes as a beacon does, and that takes no longer than beacons hold.
        long underWay = network.outOfBand() ? network.beaconHoldFrames()
                : 3 * network.edges().get(index).fibre().delayNs() / network.frame().frameNs();
        return (int) Math.min(WireConstants.HOLD_FRAMES + underWay, MAX_HOLD_FRAMES);
    }

    private long frames(long count) {
        return count * network.frame().frameNs();
    }

    private boolean rests(Record record) {
        return shutDown && record.state == MemberState.ABSENT;
    }

    private boolean isMaster(int index) {
        return network.edges().get(index) == network.master();
    }
}

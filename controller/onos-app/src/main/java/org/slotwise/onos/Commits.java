// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.StorageException;
import org.onosproject.store.service.StorageService;
import org.onosproject.store.service.Versioned;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.flow.Stores;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.RequestHeader;

/**
 * The version that each star was told last to bring in force, in a map that the cluster agrees on, before it is told.
 *
 * <p>What a leader hears first may be old: requests wait in ONOS, for seconds where there is much to do, and name the version that was
 * in force when they were made. Who believes them writes the bank in force. So a leader does not hear requests of a version before that
 * of its predecessor's last commit; and no commit is sent once another leader has read which one was the last.
 */
final class Commits {
    private static final String MAP = "slotwise-commits";
    private static final String TOLD = "told";
    private static final String LINE = "\n";
    private static final String BETWEEN = " ";
    /** A commit of a leader before that seems to be lost is told again so often. */
    static final long REPEAT_NS = TimeUnit.SECONDS.toNanos(1);
    /** Who says for so long that another version is in force is believed: somebody else has had the switches meanwhile. */
    static final long PATIENCE_NS = TimeUnit.MINUTES.toNanos(2);
    private static final Logger LOG = LoggerFactory.getLogger(Commits.class);

    private final ConsistentMap<String, String> values;
    private final String node;
    private int beginnings;

    /** Takes the name of this node, without which what two nodes have begun might look the same. */
    Commits(StorageService storage, String node) {
        this.node = node;
        this.values = storage.<String, String>consistentMapBuilder().withName(MAP)
                .withSerializer(new TextSerializer()).build();
    }

    /** Begins a term, in which nobody else can tell a commit; waits for the cluster and throws StorageException. */
    synchronized OfTerm begin(long term, List<Network> stars) {
        String header = term + BETWEEN + node + BETWEEN + ++beginnings;
        for (;;) {
            String before = Versioned.valueOrNull(Stores.ask(() -> values.get(TOLD)));
            Map<Integer, Long> told = versions(before);
            String text = text(header, told);
            boolean ours = Stores.ask(() -> before == null
                    ? values.putIfAbsent(TOLD, text) == null : values.replace(TOLD, before, text));
            if (ours) {
                return new OfTerm(header, text, told, stars);
            }
        }
    }

    private static String text(String header, Map<Integer, Long> told) {
        return header + told.entrySet().stream().map(entry -> LINE + entry.getKey() + BETWEEN + entry.getValue())
                .collect(Collectors.joining());
    }

    private static Map<Integer, Long> versions(String text) {
        Map<Integer, Long> told = new TreeMap<>();
        if (text != null) {
            text.lines().skip(1).map(line -> line.split(BETWEEN))
                    .forEach(fields -> told.put(Integer.parseInt(fields[0]), Long.parseLong(fields[1])));
        }
        return told;
    }

    private static Optional<OpticalHeader> optical(byte[] frame, OpticalKind kind) {
        return OpticalHeader.decode(frame, EthernetHeader.SIZE).filter(optical -> optical.kind() == kind.code());
    }

    /** What one leader tells, and what those before it told. Any thread may call any method. */
    final class OfTerm {
        private final String header;
        private final Map<Integer, Network> stars = new HashMap<>();
        private final Map<Integer, Inherited> inherited = new ConcurrentHashMap<>();
        /** What the map has; null where that is not known, since the cluster did not answer. */
        private String text;

        private OfTerm(String header, String text, Map<Integer, Long> told, List<Network> stars) {
            this.header = header;
            this.text = text;
            stars.forEach(star -> this.stars.put(star.core().id().value(), star));
            told.forEach((core, version) -> {
                if (this.stars.containsKey(core)) {
                    inherited.put(core, new Inherited(version));
                }
            });
        }

        /** Whether a packet is a commit, which has to be kept before it is sent. */
        boolean isCommit(byte[] frame) {
            return optical(frame, OpticalKind.COMMIT).isPresent();
        }

        /**
         * Keeps a commit that is about to be sent. Waits for the cluster and throws StorageException, and what {@code fence} throws if
         * somebody else has begun a term.
         */
        void keep(byte[] frame, Runnable fence) {
            int core = optical(frame, OpticalKind.COMMIT).orElseThrow().core();
            change(core, CommitHeader.decode(frame, ControlMessage.PAYLOAD).orElseThrow().nextVersion(), fence);
        }

        /** A switch has no tables: where it is a star's master, what was told to it is over with its former life. */
        void forget(DeviceId device, Runnable fence) {
            stars.forEach((core, star) -> {
                if (star.master().device().equals(device)) {
                    change(core, null, fence);
                    inherited.remove(core);
                }
            });
        }

        private synchronized void change(int core, Long version, Runnable fence) {
            for (;;) {
                String before = text == null ? Versioned.valueOrNull(Stores.ask(() -> values.get(TOLD))) : text;
                Map<Integer, Long> told = versions(before);
                Long was = version == null ? told.remove(core) : told.put(core, version);
                if (version == null ? was == null : version.equals(was)) {
                    return;
                }
                String changed = text(header, told);
                text = null;
                if (Stores.ask(() -> values.replace(TOLD, before, changed))) {
                    text = changed;
                    return;
                }
                fence.run();
            }
        }

        /**
         * Whether a packet from a switch is a request that is older than the last commit of the leaders before, so that nobody should
         * hear it.
         */
        boolean isOld(byte[] frame, long nowNs) {
            Optional<Inherited> last = optical(frame, OpticalKind.REQUEST).map(optical -> inherited.get(optical.core()));
            Optional<RequestHeader> request = RequestHeader.decode(frame, ControlMessage.PAYLOAD);
            if (last.isEmpty() || request.isEmpty() || ControlMessage.isCorrupted(frame)) {
                return false;
            }
            if (FrameNumber.difference(request.get().activeVersion(), last.get().version) >= 0) {
                last.get().isHeard();
                return false;
            }
            if (last.get().hasWaitedLong(nowNs)) {
                inherited.values().remove(last.get());
                LOG.warn("core {}: active version is {}, not {} as sent by the previous leader",
                        optical(frame, OpticalKind.REQUEST).orElseThrow().core(), request.get().activeVersion(), last.get().version);
                return false;
            }
            return true;
        }

        /**
         * What to tell the master whose request is old: what the leader before wanted to tell, and may not have. One that has heard it
         * refuses it.
         */
        Optional<Order> again(byte[] frame, long nowNs) {
            int core = optical(frame, OpticalKind.REQUEST).orElseThrow().core();
            Inherited last = inherited.get(core);
            RequestHeader request = RequestHeader.decode(frame, ControlMessage.PAYLOAD).orElseThrow();
            boolean follows = last != null && FrameNumber.difference(last.version, request.activeVersion()) == 1;
            if (!follows || !last.isToBeRepeated(nowNs)) {
                return Optional.empty();
            }
            Edge master = stars.get(core).master();
            int id = master.id().value();
            CommitHeader commit = new CommitHeader(0, 0, last.version, FrameNumber.plus(request.frame(), 1));
            LOG.info("core {}: version {} of the previous leader sent again", core, last.version);
            return Optional.of(new Order(master.device(), ControlMessage.encode(
                    OpticalKind.COMMIT, core, id, id, master.mac().value(), 0, commit.encode())));
        }
    }

    /** A packet for a switch itself. */
    static final class Order {
        final DeviceId device;
        final byte[] frame;

        Order(DeviceId device, byte[] frame) {
            this.device = device;
            this.frame = frame;
        }
    }

    /** The last commit of the leaders before. */
    private static final class Inherited {
        private final long version;
        private boolean waits;
        private long sinceNs;
        private long toldNs;

        Inherited(long version) {
            this.version = version;
        }

        synchronized void isHeard() {
            waits = false;
        }

        synchronized boolean hasWaitedLong(long nowNs) {
            if (!waits) {
                waits = true;
                sinceNs = nowNs;
                toldNs = nowNs;
            }
            return nowNs - sinceNs >= PATIENCE_NS;
        }

        synchronized boolean isToBeRepeated(long nowNs) {
            boolean due = nowNs - toldNs >= REPEAT_NS;
            toldNs = due ? nowNs : toldNs;
            return due;
        }
    }
}

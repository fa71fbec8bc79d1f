// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.LinkedHashMap;
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
import org.slotwise.rest.system.CommitProtocol;
import org.slotwise.rest.system.CommitProtocol.Version;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.onos.flow.Stores;

/**
 * Last version that each application committed switches to, by key, in a map that the cluster agrees on, before the commit is sent.
 *
 * <p>What a leader hears first may be old: packet-ins wait in ONOS, for seconds where there is much to do, and report the version that
 * was active when they were made. A leader that believes them writes the active bank. So it does not receive reports of a version
 * before that of its predecessor's last commit; and no commit is sent once another leader has read which one was the last.
 */
final class Commits {
    private static final String MAP = "slotwise-commits";
    private static final String TOLD = "told";
    private static final String LINE = "\n";
    private static final String BETWEEN = " ";
    /** Between application and key; no application's name has it. */
    private static final String SEPARATOR = "/";
    /** Interval at which a commit of a previous leader that seems to be lost is repeated. */
    static final long REPEAT_NS = TimeUnit.SECONDS.toNanos(1);
    /** Time after which another version that is reported throughout is believed: somebody else has had the switches meanwhile. */
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

    /**
     * Begins a term, in which nobody else can send a commit; waits for the cluster and throws StorageException.
     *
     * @param protocols protocols of applications that commit, by name
     */
    synchronized OfTerm begin(long term, Map<String, CommitProtocol> protocols) {
        String header = term + BETWEEN + node + BETWEEN + ++beginnings;
        for (;;) {
            String before = Versioned.valueOrNull(Stores.ask(() -> values.get(TOLD)));
            Map<String, Long> told = versions(before);
            String text = text(header, told);
            boolean ours = Stores.ask(() -> before == null
                    ? values.putIfAbsent(TOLD, text) == null : values.replace(TOLD, before, text));
            if (ours) {
                return new OfTerm(header, text, told, protocols);
            }
        }
    }

    private static String text(String header, Map<String, Long> told) {
        return header + told.entrySet().stream().map(entry -> LINE + entry.getKey() + BETWEEN + entry.getValue())
                .collect(Collectors.joining());
    }

    private static Map<String, Long> versions(String text) {
        Map<String, Long> told = new TreeMap<>();
        if (text != null) {
            text.lines().skip(1).map(line -> line.split(BETWEEN, -1)).forEach(fields -> told.put(fields[0], Long.parseLong(fields[1])));
        }
        return told;
    }

    private static String place(String app, int key) {
        return app + SEPARATOR + key;
    }

    /** Commits of one leader, and of those before it. Any thread may call any method. */
    final class OfTerm {
        private final String header;
        private final Map<String, CommitProtocol> protocols;
        private final Map<String, Inherited> inherited = new ConcurrentHashMap<>();
        /** Text in the map; null where that is not known, since the cluster did not answer. */
        private String text;

        private OfTerm(String header, String text, Map<String, Long> told, Map<String, CommitProtocol> protocols) {
            this.header = header;
            this.text = text;
            this.protocols = new LinkedHashMap<>(protocols);
            told.forEach((place, version) -> {
                if (protocols.keySet().stream().anyMatch(app -> place.startsWith(app + SEPARATOR))) {
                    inherited.put(place, new Inherited(version));
                }
            });
        }

        /** Returns whether a packet is a commit, which has to be recorded before it is sent. */
        boolean isCommit(byte[] frame) {
            return protocols.values().stream().anyMatch(protocol -> protocol.committed(frame).isPresent());
        }

        /**
         * Records a commit that is about to be sent. Waits for the cluster and throws StorageException, and what {@code fence} throws if
         * somebody else has begun a term.
         */
        void keep(byte[] frame, Runnable fence) {
            protocols.forEach((app, protocol) -> protocol.committed(frame)
                    .ifPresent(version -> change(place(app, version.key()), version.number(), fence)));
        }

        /** Forgets the commits to a switch that has no tables: they are over with its former life. */
        void forget(DeviceId device, Runnable fence) {
            protocols.forEach((app, protocol) -> protocol.keys(device).forEach(key -> {
                change(place(app, key), null, fence);
                inherited.remove(place(app, key));
            }));
        }

        private synchronized void change(String place, Long version, Runnable fence) {
            for (;;) {
                String before = text == null ? Versioned.valueOrNull(Stores.ask(() -> values.get(TOLD))) : text;
                Map<String, Long> told = versions(before);
                Long was = version == null ? told.remove(place) : told.put(place, version);
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

        /** Finds the last commit of the leaders before that a report is about. */
        private Optional<Reported> reported(byte[] frame) {
            if (inherited.isEmpty()) {
                return Optional.empty();
            }
            for (Map.Entry<String, CommitProtocol> protocol : protocols.entrySet()) {
                Optional<Version> active = protocol.getValue().active(frame);
                if (active.isPresent()) {
                    String place = place(protocol.getKey(), active.get().key());
                    return Optional.ofNullable(inherited.get(place))
                            .map(last -> new Reported(place, protocol.getValue(), active.get(), last));
                }
            }
            return Optional.empty();
        }

        /**
         * Returns whether a packet from a switch reports a version older than the last commit of the leaders before, so that no application
         * should receive it.
         */
        boolean isOld(byte[] frame, long nowNs) {
            Optional<Reported> report = reported(frame);
            if (report.isEmpty()) {
                return false;
            }
            Inherited last = report.get().last;
            if (report.get().difference() >= 0) {
                last.isHeard();
                return false;
            }
            if (last.hasWaitedLong(nowNs)) {
                inherited.values().remove(last);
                LOG.warn("{}: active version is {}, not {} as sent by the previous leader",
                        report.get().place, report.get().active.number(), last.version);
                return false;
            }
            return true;
        }

        /** Repeats the last commit to the switch whose report is old, if it may not have arrived. A switch that has received it rejects it. */
        Optional<Command.PacketOut> again(byte[] frame, long nowNs) {
            return reported(frame).filter(report -> report.difference() == -1 && report.last.isToBeRepeated(nowNs)).map(report -> {
                LOG.info("{}: version {} of the previous leader sent again", report.place, report.last.version);
                return report.protocol.repeat(new Version(report.active.key(), report.last.version), frame);
            });
        }
    }

    /** Report of the active version, and the last commit that it is about. */
    private static final class Reported {
        private final String place;
        private final CommitProtocol protocol;
        private final Version active;
        private final Inherited last;

        Reported(String place, CommitProtocol protocol, Version active, Inherited last) {
            this.place = place;
            this.protocol = protocol;
            this.active = active;
            this.last = last;
        }

        private long difference() {
            return protocol.difference(active.number(), last.version);
        }
    }

    /** Last commit of the leaders before. */
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.SelectableChannelEndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.io.ssl.SslHandshakeListener;
import org.eclipse.jetty.util.component.AbstractLifeCycle;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * The connections of the REST server, limited in number and time: a caller that sends its request byte by byte, or takes the
 * answer so, is disconnected, and where there are too many connections the one goes that has been waited for longest, for the rest
 * of its request or for taking its answer. Those that are not encrypted yet have places of their own and little time, so that they
 * displace nobody who can be talked to. No connection holds a thread while it waits.
 */
final class Connections extends AbstractLifeCycle implements Connection.Listener {
    /** How many there may be. */
    static final int MAX = 256;
    /** How many more may be at their TLS handshake; they cost little. */
    static final int MAX_HANDSHAKES = 512;

    private final Limits limits;
    private final LongSupplier clockNs;
    private final Scheduler scheduler;
    private final Map<SocketAddress, Open> open = new HashMap<>();
    /** The same ones: a connection that is closed does not know its caller any more. */
    private final IdentityHashMap<EndPoint, Open> byEnd = new IdentityHashMap<>();

    /**
     * How long a caller is waited for.
     *
     * @param handshakeMs from the connection to the end of its TLS handshake, ms
     * @param headMs from the connection, or the answer before, to the end of a request's head, ms
     * @param exchangeMs from there to the end of the answer, ms
     */
    record Limits(long handshakeMs, long headMs, long exchangeMs) {
        /** Far more than any honest caller needs. */
        static final Limits DEFAULT = new Limits(3_000, 10_000, 20_000);
    }

    /** What a caller is waited for. */
    private enum Stage { HANDSHAKE, HEAD, EXCHANGE }

    private static final class Open {
        private final EndPoint end;
        private final SocketAddress caller;
        private long sinceNs;
        private Stage stage;

        Open(EndPoint end, Stage stage, long sinceNs) {
            this.end = end;
            this.stage = stage;
            this.caller = end.getRemoteSocketAddress();
            this.sinceNs = sinceNs;
        }
    }

    Connections(Limits limits, LongSupplier clockNs, Scheduler scheduler) {
        this.limits = limits;
        this.clockNs = clockNs;
        this.scheduler = scheduler;
    }

    @Override
    protected void doStart() {
        scheduleCheck();
    }

    /** How many there are. */
    synchronized int count() {
        return byEnd.size();
    }

    private void scheduleCheck() {
        if (!isStopping() && !isStopped()) {
            long periodMs = Math.max(1, Math.min(limits.handshakeMs(), Math.min(limits.headMs(), limits.exchangeMs())) / 10);
            scheduler.schedule(() -> {
                closeLate();
                scheduleCheck();
            }, periodMs, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void onOpened(Connection connection) {
        EndPoint end = connection.getEndPoint();
        if (connection instanceof SslConnection encrypted) {
            encrypted.addHandshakeListener(new SslHandshakeListener() {
                @Override
                public void handshakeSucceeded(Event event) {
                    handshakeDone(end);
                }
            });
            add(end, Stage.HANDSHAKE).ifPresent(Connections::closeOldest);
        } else if (end instanceof SelectableChannelEndPoint) {
            add(end, Stage.HEAD).ifPresent(Connections::closeOldest);
        }
    }

    private synchronized Optional<EndPoint> add(EndPoint end, Stage stage) {
        Open added = new Open(end, stage, clockNs.getAsLong());
        byEnd.put(end, added);
        open.put(added.caller, added);
        return displaced(stage == Stage.HANDSHAKE);
    }

    private void handshakeDone(EndPoint end) {
        Optional<EndPoint> displaced = Optional.empty();
        synchronized (this) {
            Open connection = byEnd.get(end);
            // TLS may shake hands again later.
            if (connection != null && connection.stage == Stage.HANDSHAKE) {
                connection.stage = Stage.HEAD;
                connection.sinceNs = clockNs.getAsLong();
                displaced = displaced(false);
            }
        }
        displaced.ifPresent(Connections::closeOldest);
    }

    /** Forgets the connection waited for longest, of those at their handshake or of the others, if they are too many. */
    private Optional<EndPoint> displaced(boolean atHandshake) {
        Predicate<Open> isOne = other -> (other.stage == Stage.HANDSHAKE) == atHandshake;
        if (byEnd.values().stream().filter(isOne).count() <= (atHandshake ? MAX_HANDSHAKES : MAX)) {
            return Optional.empty();
        }
        Optional<Open> oldest = byEnd.values().stream().filter(isOne).min(Comparator.comparingLong(other -> other.sinceNs));
        oldest.ifPresent(this::remove);
        return oldest.map(gone -> gone.end);
    }

    private static void closeOldest(EndPoint oldest) {
        close(oldest, "too many connections");
    }

    private void remove(Open closed) {
        byEnd.remove(closed.end);
        open.remove(closed.caller, closed);
    }

    @Override
    public synchronized void onClosed(Connection connection) {
        Open closed = byEnd.get(connection.getEndPoint());
        if (closed != null) {
            remove(closed);
        }
    }

    /** The head of a request came. */
    synchronized void begin(SocketAddress caller) {
        mark(caller, Stage.EXCHANGE);
    }

    /** The request was answered. */
    synchronized void end(SocketAddress caller) {
        mark(caller, Stage.HEAD);
    }

    private void mark(SocketAddress caller, Stage stage) {
        Open connection = open.get(caller);
        if (connection != null) {
            connection.stage = stage;
            connection.sinceNs = clockNs.getAsLong();
        }
    }

    private void closeLate() {
        List<EndPoint> late = new ArrayList<>();
        synchronized (this) {
            long nowNs = clockNs.getAsLong();
            for (Open connection : byEnd.values()) {
                long limitMs = switch (connection.stage) {
                    case HANDSHAKE -> limits.handshakeMs();
                    case HEAD -> limits.headMs();
                    case EXCHANGE -> limits.exchangeMs();
                };
                if (nowNs - connection.sinceNs > TimeUnit.MILLISECONDS.toNanos(limitMs)) {
                    late.add(connection.end);
                }
            }
        }
        late.forEach(end -> close(end, "too slow"));
    }

    private static void close(EndPoint end, String reason) {
        end.close(new TimeoutException(reason));
    }
}

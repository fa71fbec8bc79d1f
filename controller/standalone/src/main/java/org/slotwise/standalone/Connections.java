// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.SelectableChannelEndPoint;
import org.eclipse.jetty.util.component.AbstractLifeCycle;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * The connections of the REST server, limited in number and time: a caller that sends its request byte by byte, or takes the
 * answer so, is disconnected, and where there are too many connections the one goes that has waited longest without a whole
 * request. No connection holds a thread while it waits.
 */
final class Connections extends AbstractLifeCycle implements Connection.Listener {
    /** How many there may be. */
    static final int MAX = 256;

    private final Limits limits;
    private final LongSupplier clockNs;
    private final Scheduler scheduler;
    private final Map<SocketAddress, Open> open = new HashMap<>();

    /**
     * How long a caller is waited for.
     *
     * @param headMs from the connection, or the answer before, to the end of a request's head, ms
     * @param exchangeMs from there to the end of the answer, ms
     */
    record Limits(long headMs, long exchangeMs) {
        /** Far more than any honest caller needs. */
        static final Limits DEFAULT = new Limits(10_000, 20_000);
    }

    private static final class Open {
        private final EndPoint end;
        private long sinceNs;
        private boolean inExchange;

        Open(EndPoint end, long sinceNs) {
            this.end = end;
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

    private void scheduleCheck() {
        if (!isStopping() && !isStopped()) {
            long periodMs = Math.max(1, Math.min(limits.headMs(), limits.exchangeMs()) / 10);
            scheduler.schedule(() -> {
                closeLate();
                scheduleCheck();
            }, periodMs, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void onOpened(Connection connection) {
        EndPoint end = connection.getEndPoint();
        if (end instanceof SelectableChannelEndPoint) {
            add(end).ifPresent(oldest -> close(oldest, "too many connections"));
        }
    }

    private synchronized Optional<EndPoint> add(EndPoint end) {
        open.put(end.getRemoteSocketAddress(), new Open(end, clockNs.getAsLong()));
        if (open.size() <= MAX) {
            return Optional.empty();
        }
        return open.values().stream().filter(other -> !other.inExchange)
                .min(Comparator.comparingLong(other -> other.sinceNs)).map(other -> {
                    open.remove(other.end.getRemoteSocketAddress());
                    return other.end;
                });
    }

    @Override
    public synchronized void onClosed(Connection connection) {
        EndPoint end = connection.getEndPoint();
        if (end instanceof SelectableChannelEndPoint) {
            Open closed = open.get(end.getRemoteSocketAddress());
            if (closed != null && closed.end == end) {
                open.remove(end.getRemoteSocketAddress());
            }
        }
    }

    /** The head of a request came. */
    synchronized void begin(SocketAddress caller) {
        mark(caller, true);
    }

    /** The request was answered. */
    synchronized void end(SocketAddress caller) {
        mark(caller, false);
    }

    private void mark(SocketAddress caller, boolean inExchange) {
        Open connection = open.get(caller);
        if (connection != null) {
            connection.inExchange = inExchange;
            connection.sinceNs = clockNs.getAsLong();
        }
    }

    private void closeLate() {
        List<EndPoint> late = new ArrayList<>();
        synchronized (this) {
            long nowNs = clockNs.getAsLong();
            for (Open connection : open.values()) {
                long limitMs = connection.inExchange ? limits.exchangeMs() : limits.headMs();
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
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
 * answer so, is disconnected, and where there are too many connections the one goes that has been waited for longest, for the rest
 * of its request or for taking its answer. No connection holds a thread while it waits.
 */
final class Connections extends AbstractLifeCycle implements Connection.Listener {
    /** How many there may be. */
    static final int MAX = 256;

    private final Limits limits;
    private final LongSupplier clockNs;
    private final Scheduler scheduler;
    private final Map<SocketAddress, Open> open = new HashMap<>();
    /** The same ones: a connection that is closed does not know its caller any more. */
    private final Map<EndPoint, Open> byEnd = new IdentityHashMap<>();

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
        private final SocketAddress caller;
        private long sinceNs;
        private boolean inExchange;

        Open(EndPoint end, long sinceNs) {
            this.end = end;
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
        Open added = new Open(end, clockNs.getAsLong());
        byEnd.put(end, added);
        open.put(added.caller, added);
        if (byEnd.size() <= MAX) {
            return Optional.empty();
        }
        Open oldest = Collections.min(byEnd.values(), Comparator.comparingLong(other -> other.sinceNs));
        remove(oldest);
        return Optional.of(oldest.end);
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
            for (Open connection : byEnd.values()) {
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

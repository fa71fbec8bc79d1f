// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.DoSHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.NanoTime;
import org.slotwise.page.PageResource;

/** Rejects callers without the token, under a foreign name or from a foreign web page with a problem document. */
final class AccessHandler extends Handler.Wrapper {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");
    private static final String BY_ADDRESS = "token=";
    /** Addresses are forgotten once all that they may do is allowed again. */
    private static final int NO_LIMIT = -1;

    private final AccessToken token;
    private final AccessToken reserved;
    private final boolean page;
    private final CallerNames names;

    AccessHandler(RestSettings settings, Handler resources) {
        super(resources);
        this.token = settings.token();
        this.reserved = settings.reserved();
        this.page = settings.page();
        this.names = settings.callerNames();
    }

    /**
     * Returns a handler that rejects callers who come too often, before the one inside: tokens cannot be tried out faster than it allows.
     * Requests with the reserved token are counted apart.
     */
    static Handler limited(RestSettings settings, AccessHandler inside) {
        return new DoSHandler(inside, request -> (inside.isReserved(request) ? "reserved " : "") + address(request).getHostAddress(),
                id -> new Bucket(settings.requestsPerSecond(), NanoTime.now()), AccessHandler::rejectForAWhile, NO_LIMIT);
    }

    /** So many requests a second, and as many at once after a rest. Rejected ones cost nothing: Jetty's own bucket stays full by them. */
    private static final class Bucket implements DoSHandler.Tracker {
        private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);

        private final long costNs;
        private long creditNs = SECOND_NS;
        private long sinceNs;

        Bucket(long perSecond, long nowNs) {
            this.costNs = SECOND_NS / perSecond;
            this.sinceNs = nowNs;
        }

        @Override
        public synchronized boolean onRequest(long nowNs) {
            creditNs = Math.min(SECOND_NS, creditNs + Math.min(SECOND_NS, NanoTime.elapsed(sinceNs, nowNs)));
            sinceNs = nowNs;
            boolean isAdmitted = creditNs >= costNs;
            creditNs -= isAdmitted ? costNs : 0;
            return isAdmitted;
        }

        /** Returns when it is full again. */
        @Override
        public synchronized long getExpireNanoTime() {
            return sinceNs + SECOND_NS;
        }
    }

    private static boolean rejectForAWhile(Request request, Response response, Callback callback) {
        response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
        ProblemAnswer.send(request, response, callback, HttpStatus.TOO_MANY_REQUESTS_429,
                "too many requests from this address; retry in 1 s");
        return true;
    }

    /** Returns the address of the caller. */
    static InetAddress address(Request request) {
        return ((InetSocketAddress) request.getConnectionMetaData().getRemoteSocketAddress()).getAddress();
    }

    private boolean isReserved(Request request) {
        return reserved != null && reserved.isIn(request.getHeaders().get(HttpHeader.AUTHORIZATION));
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        String host = request.getHeaders().get(HttpHeader.HOST);
        String authorization = request.getHeaders().get(HttpHeader.AUTHORIZATION);
        if (!names.isOwn(host) || !names.isOwn(request.getHttpURI().getAuthority())) {
            ProblemAnswer.send(request, response, callback, HttpStatus.MISDIRECTED_REQUEST_421,
                    "unknown host name; add it to 'rest.names' of the configuration if it is the controller's");
        } else if (!CallerNames.isOwnOrigin(request.getHeaders().getValuesList(HttpHeader.ORIGIN), host,
                request.isSecure() ? "https" : "http")) {
            ProblemAnswer.send(request, response, callback, HttpStatus.FORBIDDEN_403,
                    "cross-origin requests are not allowed");
        } else if (token != null && !isReserved(request) && !token.isIn(authorization) && !isOfPage(request)) {
            response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
            ProblemAnswer.send(request, response, callback, HttpStatus.UNAUTHORIZED_401,
                    "missing or invalid token; expected an Authorization header with the bearer token");
        } else {
            return super.handle(request, response, callback);
        }
        return true;
    }

    /**
     * Whether a browser may have it without the header, which it cannot send when a person opens the page: the page, for who shows the
     * token in its address, and its files. What is read and changed by it needs the header. Only paths that are written just so count.
     */
    private boolean isOfPage(Request request) {
        if (!page || !READING.contains(request.getMethod())) {
            return false;
        }
        String path = request.getHttpURI().getPath();
        String query = request.getHttpURI().getQuery();
        return PageResource.ASSETS.contains(path) || path.equals(PageResource.PATH) && query != null
                && Stream.of(query.split("&")).anyMatch(part -> part.startsWith(BY_ADDRESS) && token.is(part.substring(BY_ADDRESS.length())));
    }

    /**
     * By which names callers may call. A web page of a stranger whose name leads to this machine (DNS rebinding) calls by that
     * name, and browsers say so.
     *
     * @param allowed in lower case; empty for any
     */
    record CallerNames(Set<String> allowed) {
        /** Whether a Host header, or null, names this controller. */
        boolean isOwn(String host) {
            return host == null || allowed.isEmpty() || allowed.contains(name(host));
        }

        /** The part before the port. */
        private static String name(String host) {
            int colon = host.lastIndexOf(':');
            String name = colon < 0 || host.endsWith("]") ? host : host.substring(0, colon);
            return name.toLowerCase(Locale.ROOT);
        }

        /** Whether the Origin header is this controller's own, or there is none; several are nobody's. */
        static boolean isOwnOrigin(List<String> origins, String host, String scheme) {
            return origins.isEmpty() || origins.size() == 1 && host != null && (scheme + "://" + host).equalsIgnoreCase(origins.get(0));
        }
    }
}

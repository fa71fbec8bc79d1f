// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slotwise.page.PageResource;

/**
 * What comes before any resource: callers that come too often, without the token, under a foreign name or from a foreign web
 * page are turned away with a problem document, and what would change something is written to the audit log.
 */
final class AccessHandler extends Handler.Wrapper {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");
    private static final String BY_ADDRESS = "token=";
    /** Longest path in the audit log. */
    private static final int MAX_PATH = 256;

    private final AccessToken token;
    private final AccessToken reserved;
    private final boolean page;
    private final CallerNames names;
    private final RateLimit limit;
    private final RateLimit reservedLimit;
    private final AuditLog audit;
    private final Connections connections;
    private int underWay;
    private boolean ending;

    AccessHandler(RestSettings settings, AuditLog audit, Connections connections, Handler resources) {
        super(resources);
        this.token = settings.token();
        this.reserved = settings.reserved();
        this.page = settings.page();
        this.names = settings.callerNames();
        this.limit = new RateLimit(settings.requestsPerSecond(), System::nanoTime);
        this.reservedLimit = new RateLimit(settings.requestsPerSecond(), System::nanoTime);
        this.audit = audit;
        this.connections = connections;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        SocketAddress caller = request.getConnectionMetaData().getRemoteSocketAddress();
        if (!begin()) {
            ProblemAnswer.send(request, response, callback, HttpStatus.SERVICE_UNAVAILABLE_503, "the controller is shutting down");
            return true;
        }
        connections.begin(caller);
        Request.addCompletionListener(request, failure -> {
            connections.end(caller);
            if (!READING.contains(request.getMethod())) {
                String path = request.getHttpURI().getPath();
                audit.request(address(caller).getHostAddress(), request.getMethod(),
                        path.substring(0, Math.min(MAX_PATH, path.length())), response.getStatus());
            }
            end();
        });
        String host = request.getHeaders().get(HttpHeader.HOST);
        String authorization = request.getHeaders().get(HttpHeader.AUTHORIZATION);
        boolean isReserved = reserved != null && reserved.isIn(authorization);
        // The limit comes first: tokens cannot be tried out faster than it allows.
        if (!(isReserved ? reservedLimit : limit).admit(address(caller))) {
            response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
            ProblemAnswer.send(request, response, callback, HttpStatus.TOO_MANY_REQUESTS_429,
                    "too many requests from this address; retry in 1 s");
        } else if (!names.isOwn(host) || !names.isOwn(request.getHttpURI().getAuthority())) {
            ProblemAnswer.send(request, response, callback, HttpStatus.MISDIRECTED_REQUEST_421,
                    "unknown host name; add it to 'rest.names' of the configuration if it is the controller's");
        } else if (!CallerNames.isOwnOrigin(request.getHeaders().getValuesList(HttpHeader.ORIGIN), host,
                request.isSecure() ? "https" : "http")) {
            ProblemAnswer.send(request, response, callback, HttpStatus.FORBIDDEN_403,
                    "cross-origin requests are not allowed");
        } else if (token != null && !isReserved && !token.isIn(authorization) && !isOfPage(request)) {
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

    private static InetAddress address(SocketAddress caller) {
        return ((InetSocketAddress) caller).getAddress();
    }

    private synchronized boolean begin() {
        if (!ending) {
            underWay++;
        }
        return !ending;
    }

    private synchronized void end() {
        underWay--;
        notifyAll();
    }

    /** Turns new requests away and waits for those under way, for a while. */
    synchronized void drain(long timeoutMs) throws InterruptedException {
        ending = true;
        long endNs = System.nanoTime() + timeoutMs * 1_000_000;
        while (underWay > 0 && System.nanoTime() < endNs) {
            wait(Math.max(1, (endNs - System.nanoTime()) / 1_000_000));
        }
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * What comes before any resource: callers that come too often, or without the token, are turned away with a problem
 * document, and what would change something is written to the audit log.
 */
final class AccessFilter extends Filter {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");
    /** Longest path in the audit log. */
    private static final int MAX_PATH = 256;

    private final AccessToken token;
    private final RateLimit limit;
    private final AuditLog audit;
    private int underWay;
    private boolean ending;

    /** Takes the token that callers must send, or null. */
    AccessFilter(AccessToken token, RateLimit limit, AuditLog audit) {
        this.token = token;
        this.limit = limit;
        this.audit = audit;
    }

    @Override
    public String description() {
        return "access";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        if (!begin()) {
            refuse(exchange, 503, "Service Unavailable", "the controller is ending");
            return;
        }
        try {
            // The limit comes first: tokens cannot be tried out faster than it allows.
            if (!limit.admit(exchange.getRemoteAddress().getAddress())) {
                exchange.getResponseHeaders().set("Retry-After", "1");
                refuse(exchange, 429, "Too Many Requests", "too many requests from this address; wait a second");
            } else if (token != null && !token.isIn(exchange.getRequestHeaders().getFirst("Authorization"))) {
                exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
                refuse(exchange, 401, "Unauthorized", "an Authorization header with the bearer token is needed");
            } else {
                chain.doFilter(exchange);
            }
        } finally {
            if (!READING.contains(exchange.getRequestMethod())) {
                String path = exchange.getRequestURI().getPath();
                audit.request(exchange.getRemoteAddress().getAddress().getHostAddress(), exchange.getRequestMethod(),
                        path.substring(0, Math.min(MAX_PATH, path.length())), exchange.getResponseCode());
            }
            end();
        }
    }

    private static void refuse(HttpExchange exchange, int status, String title, String detail) throws IOException {
        byte[] body = JsonNodeFactory.instance.objectNode().put("type", "about:blank").put("title", title)
                .put("status", status).put("detail", detail).toString().getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/problem+json");
        boolean head = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, head ? -1 : body.length);
        if (!head) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
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
}

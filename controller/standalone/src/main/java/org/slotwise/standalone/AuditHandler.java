// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.SocketAddress;
import java.util.Set;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Writes requests that would change something to the audit log, and tells connections when requests begin and end. */
final class AuditHandler extends Handler.Wrapper {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");
    /** Longest path in the audit log. */
    private static final int MAX_PATH = 256;

    private final AuditLog audit;
    private final Connections connections;

    AuditHandler(AuditLog audit, Connections connections, Handler inside) {
        super(inside);
        this.audit = audit;
        this.connections = connections;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        SocketAddress caller = request.getConnectionMetaData().getRemoteSocketAddress();
        String from = AccessHandler.address(request).getHostAddress();
        connections.begin(caller);
        Request.addCompletionListener(request, failure -> {
            connections.end(caller);
            if (!READING.contains(request.getMethod())) {
                String path = request.getHttpURI().getPath();
                audit.request(from, request.getMethod(), path.substring(0, Math.min(MAX_PATH, path.length())), response.getStatus());
            }
        });
        return super.handle(request, response, callback);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** How a P4Runtime channel is protected. */
public final class ChannelSecurity {
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private final SslContext context;
    private final String serverName;
    private final String token;

    private ChannelSecurity(SslContext context, String serverName, String token) {
        this.context = context;
        this.serverName = serverName;
        this.token = token;
    }

    /** Not at all. */
    public static ChannelSecurity plainText() {
        return new ChannelSecurity(null, null, null);
    }

    /**
     * TLS; all files are PEM.
     *
     * @param authority certificates that the server's is checked against
     * @param certificate the client's own chain, with {@code key} its PKCS #8 key; both or neither
     * @param serverName name in the server's certificate, if it is not the one in the address
     */
    public static ChannelSecurity tls(Path authority, Optional<Path> certificate, Optional<Path> key,
            Optional<String> serverName) throws IOException {
        SslContextBuilder builder = GrpcSslContexts.forClient();
        for (Path file : new Path[] {authority, certificate.orElse(authority), key.orElse(authority)}) {
            if (!Files.isReadable(file)) {
                throw new IOException("p4runtime.tls: " + file + " is not readable");
            }
        }
        try {
            builder.trustManager(authority.toFile());
            if (certificate.isPresent() && key.isPresent()) {
                builder.keyManager(certificate.get().toFile(), key.get().toFile());
            }
            return new ChannelSecurity(builder.build(), serverName.orElse(null), null);
        } catch (SSLException | IllegalArgumentException e) {
            String reason = e.getCause() == null ? e.getMessage() : e.getMessage() + ": " + e.getCause().getMessage();
            throw new IOException("p4runtime.tls: " + reason, e);
        }
    }

    /** The same, and each call shows this token to servers that are for those who have it. */
    public ChannelSecurity withToken(String shown) {
        return new ChannelSecurity(context, serverName, shown);
    }

    void applyTo(NettyChannelBuilder builder) {
        if (token != null) {
            Metadata headers = new Metadata();
            headers.put(AUTHORIZATION, "Bearer " + token);
            builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
        }
        if (context == null) {
            builder.usePlaintext();
        } else {
            builder.sslContext(context);
            if (serverName != null) {
                builder.overrideAuthority(serverName);
            }
        }
    }
}

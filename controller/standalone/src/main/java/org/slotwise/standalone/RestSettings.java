// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/**
 * How the REST server is reached.
 *
 * @param host address that it listens on; a loopback one unless there are a token and TLS
 * @param port its port; 0 for any free one
 * @param names by which callers may call it besides its address; empty with a token for any
 * @param token what callers must send; null for none
 * @param reserved whoever sends it is served whatever others ask, up to a limit of its own; null for none
 * @param tls for HTTPS; null for HTTP
 * @param clientCertificates whether callers must have a certificate
 * @param requestsPerSecond what one address may ask
 * @param page whether the live page is served; only on a loopback address, to who has the token
 */
record RestSettings(String host, int port, Set<String> names, AccessToken token, AccessToken reserved, SSLContext tls,
        boolean clientCertificates, int requestsPerSecond, boolean page) {
    private static final int DEFAULT_REQUESTS_PER_SECOND = 100;
    private static final String DEFAULT_HOST = "127.0.0.1";
    private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]+\\]");
    private static final int MAX_NAMES = 64;
    private static final int MAX_PORT = 65_535;
    private static final int MAX_REQUESTS_PER_SECOND = 100_000;

    /** Reads and checks them. */
    static RestSettings decode(String where, JsonNode value) throws IOException, InvalidJsonException {
        JsonFields fields =
                JsonFields.of(where, value, "host", "port", "names", "token_file", "reserved_token_file", "tls",
                        "requests_per_second", "page");
        String host = fields.optional("host").isPresent() ? fields.text("host") : DEFAULT_HOST;
        int port = (int) fields.integer("port", 0, MAX_PORT);
        Optional<Path> token = Configuration.optionalPath(fields, "token_file");
        Optional<JsonNode> tls = fields.optional("tls");
        if (!isLoopback(where, host) && (token.isEmpty() || tls.isEmpty())) {
            throw new InvalidJsonException(where, "'token_file' and 'tls' are required for 'host' " + host
                    + "; expected a loopback address without them");
        }
        int perSecond = fields.optional("requests_per_second").isEmpty() ? DEFAULT_REQUESTS_PER_SECOND
                : (int) fields.integer("requests_per_second", 1, MAX_REQUESTS_PER_SECOND);
        boolean page = fields.optional("page").isPresent() && fields.flag("page");
        if (page && (token.isEmpty() || !isLoopback(where, host))) {
            throw new InvalidJsonException(fields.place("page"), "the page requires 'token_file'"
                    + " and a loopback address as 'host'");
        }
        AccessToken read = token.isPresent() ? AccessToken.read(token.get()) : null;
        Optional<Path> reservedToken = Configuration.optionalPath(fields, "reserved_token_file");
        AccessToken reserved = reservedToken.isPresent() ? AccessToken.read(reservedToken.get()) : null;
        Set<String> names = names(fields);
        if (tls.isEmpty()) {
            return new RestSettings(host, port, names, read, reserved, null, false, perSecond, page);
        }
        JsonFields files = JsonFields.of(where + ".tls", tls.get(), "certificate", "key", "client_ca");
        Optional<Path> clientAuthority = Configuration.optionalPath(files, "client_ca");
        SSLContext context = PemFiles.serverContext(Configuration.path(files, "certificate"),
                Configuration.path(files, "key"), clientAuthority.orElse(null));
        return new RestSettings(host, port, names, read, reserved, context, clientAuthority.isPresent(), perSecond, page);
    }

    private static Set<String> names(JsonFields fields) throws InvalidJsonException {
        Set<String> names = new TreeSet<>();
        Optional<JsonNode> value = fields.optional("names");
        if (value.isPresent()) {
            if (!value.get().isArray() || value.get().size() > MAX_NAMES) {
                throw new InvalidJsonException(fields.place("names"), "expected an array of at most " + MAX_NAMES + " names");
            }
            for (JsonNode name : value.get()) {
                if (!name.isTextual() || !NAME.matcher(name.textValue()).matches()) {
                    throw new InvalidJsonException(fields.place("names"), "expected host names without ports, got " + name);
                }
                names.add(name.textValue().toLowerCase(Locale.ROOT));
            }
        }
        return names;
    }

    /**
     * What callers may call this server. With a token any name will do where none is configured: a web page of a stranger does
     * not have it. Not so with the live page: a browser may have the token in its history.
     */
    AccessHandler.CallerNames callerNames() {
        if (token != null && names.isEmpty() && !page) {
            return new AccessHandler.CallerNames(Set.of());
        }
        Set<String> all = new TreeSet<>(names);
        all.add(host.contains(":") ? "[" + host + "]" : host.toLowerCase(Locale.ROOT));
        all.addAll(LOOPBACK);
        return new AccessHandler.CallerNames(all);
    }

    private static boolean isLoopback(String where, String host) throws InvalidJsonException {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            throw new InvalidJsonException(where + ".host", "unknown host '" + host + "'");
        }
    }
}

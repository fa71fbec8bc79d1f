// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Certificates and keys in PEM files (RFC 7468): X.509, and PKCS #8 without a password. */
final class PemFiles {
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    private static final List<String> KEY_TYPES = List.of("RSA", "EC", "Ed25519");
    private static final char[] NO_PASSWORD = {};

    private PemFiles() {
    }

    /**
     * Makes the TLS context of a server.
     *
     * @param clientAuthority certificates that clients' own are checked against; null if clients need none
     */
    static SSLContext serverContext(Path certificates, Path key, Path clientAuthority) throws IOException {
        try {
            KeyStore own = emptyStore();
            own.setKeyEntry("own", key(key), NO_PASSWORD, certificates(certificates).toArray(new Certificate[0]));
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, NO_PASSWORD);
            SSLContext context = SSLContext.getInstance("TLS");
            if (clientAuthority == null) {
                context.init(keys.getKeyManagers(), null, null);
            } else {
                KeyStore trusted = emptyStore();
                int number = 0;
                for (Certificate certificate : certificates(clientAuthority)) {
                    trusted.setCertificateEntry("client-" + number++, certificate);
                }
                TrustManagerFactory trust =
                        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init(trusted);
                context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            }
            return context;
        } catch (GeneralSecurityException e) {
            throw new IOException("rest.tls: " + certificates + " and " + key + " do not match: " + e.getMessage(), e);
        }
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file) throws IOException {
        try {
            Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509")
                    .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
            if (found.isEmpty()) {
                throw new IOException(file + ": no certificate");
            }
            return found;
        } catch (GeneralSecurityException e) {
            throw new IOException(file + ": expected X.509 certificates in PEM: " + e.getMessage(), e);
        }
    }

    private static PrivateKey key(Path file) throws IOException {
        SecretFiles.check(file);
        Matcher text = KEY.matcher(Files.readString(file, StandardCharsets.ISO_8859_1));
        if (!text.find()) {
            throw new IOException(file + ": expected an unencrypted PKCS #8 key ('BEGIN PRIVATE KEY')");
        }
        PKCS8EncodedKeySpec encoded;
        try {
            encoded = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(text.group(1)));
        } catch (IllegalArgumentException e) {
            throw new IOException(file + ": expected a key in base64", e);
        }
        for (String type : KEY_TYPES) {
            try {
                return KeyFactory.getInstance(type).generatePrivate(encoded);
            } catch (GeneralSecurityException e) {
                // Another type, perhaps.
            }
        }
        throw new IOException(file + ": unsupported key type; expected one of " + String.join(", ", KEY_TYPES));
    }
}

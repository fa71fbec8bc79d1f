// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.slotwise.wire.Limits;

/** A secret that callers of the REST interface send (RFC 6750); only its hash is kept. */
final class AccessToken {
    private static final String SCHEME = "Bearer ";

    private final byte[] hash;

    private AccessToken(String token) {
        this.hash = hash(token);
    }

    /** Reads a file with the token as its only line, which {@link SecretFiles#check} accepts. */
    static AccessToken read(Path file) throws IOException {
        return new AccessToken(text(file));
    }

    /** As {@link #read}, but gives the token itself. */
    static String text(Path file) throws IOException {
        SecretFiles.check(file);
        String token = new String(BoundedFiles.read(file, Limits.MAX_TOKEN_CHARS), StandardCharsets.ISO_8859_1).strip();
        if (token.length() < Limits.MIN_TOKEN_CHARS || !token.matches("[A-Za-z0-9._~+/=-]+")) {
            throw new IOException(file + ": invalid token; expected one line of at least " + Limits.MIN_TOKEN_CHARS
                    + " letters, digits, or any of ._~+/=-");
        }
        return token;
    }

    /** Whether the value of an Authorization header, or null, has the token; takes as long whatever is wrong. */
    boolean isIn(String authorization) {
        String given = authorization != null && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                ? authorization.substring(SCHEME.length()).strip() : "";
        return is(given);
    }

    /** The same for the token itself, as an address has it. */
    boolean is(String token) {
        return MessageDigest.isEqual(hash, hash(token));
    }

    private static byte[] hash(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.ISO_8859_1));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("missing SHA-256", e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/** The page as it was built of {@code web/}, which is in this library. */
final class PageFiles {
    /** By this the page knows how its stream comes; what was built for the engine says {@code websocket}. */
    private static final String BY_SOCKET = "<meta name=\"slotwise-stream\" content=\"websocket\"";
    private static final String BY_ASKING = "<meta name=\"slotwise-stream\" content=\"poll\"";
    private static final Map<String, String> TYPES = Map.of("js", "text/javascript", "css", "text/css");

    private final byte[] index;
    private final Map<String, byte[]> assets;

    PageFiles() {
        String built = new String(read("index.html"), StandardCharsets.UTF_8);
        if (!built.contains(BY_SOCKET)) {
            throw new IllegalStateException("missing stream type in the page");
        }
        index = built.replace(BY_SOCKET, BY_ASKING).getBytes(StandardCharsets.UTF_8);
        assets = Map.of("page.js", read("assets/page.js"), "page.css", read("assets/page.css"));
    }

    private static byte[] read(String name) {
        try (InputStream file = PageFiles.class.getResourceAsStream("/page/" + name)) {
            if (file == null) {
                throw new IllegalStateException("missing file of the page: " + name);
            }
            return file.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a browser loads first. */
    byte[] index() {
        return index.clone();
    }

    /** What that refers to. */
    Optional<byte[]> asset(String name) {
        return Optional.ofNullable(assets.get(name)).map(byte[]::clone);
    }

    /** Content type of an asset. */
    static String type(String name) {
        return TYPES.get(name.substring(name.lastIndexOf('.') + 1)) + "; charset=utf-8";
    }
}

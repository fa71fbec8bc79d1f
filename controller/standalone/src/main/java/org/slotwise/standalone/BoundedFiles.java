// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Files that somebody may have put others in the place of: without an end, or ones that would be waited for. */
final class BoundedFiles {
    private BoundedFiles() {
    }

    /** What a file has; throws IOException with its name if that is more than {@code maxBytes}. */
    static byte[] read(Path file, int maxBytes) throws IOException {
        try (InputStream bytes = Files.newInputStream(file)) {
            byte[] read = bytes.readNBytes(maxBytes + 1);
            if (read.length > maxBytes) {
                throw new IOException(file + ": too large; expected at most " + maxBytes + " bytes");
            }
            return read;
        }
    }

    /**
     * Whether there is a file of our own. Throws IOException if there is something else under that name: whoever opens a FIFO waits
     * for its other end, a device has no end, and what a link leads to may be gone for a while.
     */
    static boolean exists(Path file) throws IOException {
        try {
            if (Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .isRegularFile()) {
                return true;
            }
        } catch (NoSuchFileException none) {
            return false;
        }
        String what = Files.isSymbolicLink(file) ? "a symbolic link" : Files.isDirectory(file) ? "a directory" : "a FIFO or device";
        throw new IOException(file + ": expected a regular file, got " + what);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

/** Files with keys and tokens. */
final class SecretFiles {
    private static final Set<PosixFilePermission> TOO_MUCH = EnumSet.of(PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_READ, PosixFilePermission.OTHERS_WRITE, PosixFilePermission.OTHERS_EXECUTE);

    private SecretFiles() {
    }

    /** Refuses a file that others than its owner and group may read, or others than its owner may write. */
    static void check(Path file) throws IOException {
        if (!file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            return;
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
        for (PosixFilePermission permission : TOO_MUCH) {
            if (permissions.contains(permission)) {
                throw new IOException(file + ": secret file accessible to others, mode " + PosixFilePermissions.toString(permissions)
                        + "; expected 'chmod 600 " + file + "', or 640 for its group");
            }
        }
    }
}

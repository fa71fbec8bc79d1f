// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import javax.tools.ToolProvider;
import org.slotwise.systems.star.schedule.SchedulerProvider;

/** Jars of schedulers, made as docs/write-your-own.md says. */
public final class Jars {
    private Jars() {
    }

    /** Compiles a class in a directory, and names it as a provider. */
    public static Path of(Path directory, Path source, String provider) throws IOException {
        Path classes = Files.createDirectories(directory.resolve("classes"));
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-proc:none", "-cp",
                System.getProperty("java.class.path"), "-d", classes.toString(), source.toString()));
        Path jar = directory.resolve("own.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar)); var files = Files.list(classes)) {
            for (Path file : files.toList()) {
                out.putNextEntry(new JarEntry(file.getFileName().toString()));
                Files.copy(file, out);
            }
            out.putNextEntry(new JarEntry("META-INF/services/" + SchedulerProvider.class.getName()));
            out.write(provider.getBytes(StandardCharsets.UTF_8));
        }
        return jar;
    }
}

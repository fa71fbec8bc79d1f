// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.osgi;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/** A real OSGi framework with the bundles of the class path, those of ONOS and Karaf among them, and the bundle under test. */
final class Bundles {
    /** Packages of ONOS's own build of gRPC, for which Maven Central has no bundle; only others import them. */
    private static final String NOT_ON_MAVEN_CENTRAL = String.join(",", "sun.misc", "com.google.rpc",
            "io.grpc.internal", "io.grpc.protobuf.lite");
    /** What Karaf has of JAXB stands beside the Java runtime, for all. */
    private static final String JAXB = Stream.of("", ".annotation", ".annotation.adapters")
            .map(part -> "javax.xml.bind" + part + ";version=2.3.0").collect(Collectors.joining(","));
    /** No bundles for it: the framework itself, JAXB, and the programs under test. */
    private static final Set<String> NOT_INSTALLED = Set.of("org.apache.felix.framework", "jakarta.xml.bind", "jaxb-runtime", "slotwise");
    private static final long STOP_TIMEOUT_MS = 10_000;

    private final Framework framework;
    private final Bundle app;

    /** Installs all and starts none but the framework, whose files are in {@code cache}. */
    Bundles(Path cache, Map<String, String> settings) throws BundleException, IOException {
        Map<String, String> all = new HashMap<>(settings);
        all.put(Constants.FRAMEWORK_STORAGE, cache.toString());
        all.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, NOT_ON_MAVEN_CENTRAL + "," + JAXB);
        framework = ServiceLoader.load(FrameworkFactory.class).iterator().next().newFramework(all);
        framework.start();
        for (String jar : classPath()) {
            if (isBundle(jar)) {
                install(new File(jar));
            }
        }
        app = install(file());
    }

    private static List<String> classPath() {
        return List.of(System.getProperty("java.class.path").split(File.pathSeparator));
    }

    /** Jars of the class path whose names have all of these. */
    static List<Path> jars(String... parts) {
        return classPath().stream().filter(jar -> jar.endsWith(".jar") && Stream.of(parts).allMatch(jar::contains)).map(Path::of)
                .collect(Collectors.toList());
    }

    private static boolean isBundle(String jar) throws IOException {
        if (!jar.endsWith(".jar") || NOT_INSTALLED.stream().anyMatch(jar::contains)) {
            return false;
        }
        try (JarFile file = new JarFile(jar)) {
            Manifest manifest = file.getManifest();
            return manifest != null && manifest.getMainAttributes().getValue(Constants.BUNDLE_SYMBOLICNAME) != null;
        }
    }

    /** The bundle under test, as it is packed. */
    static File file() {
        return new File(System.getProperty("slotwise.bundle"));
    }

    Bundle install(File jar) throws BundleException {
        return framework.getBundleContext().installBundle(jar.toURI().toString());
    }

    Framework framework() {
        return framework;
    }

    Bundle app() {
        return app;
    }

    void stop() throws BundleException, InterruptedException {
        framework.stop();
        framework.waitForStop(STOP_TIMEOUT_MS);
    }
}

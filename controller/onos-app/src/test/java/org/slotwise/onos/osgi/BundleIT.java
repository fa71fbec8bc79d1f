// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.osgi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.BundleWire;
import org.osgi.framework.wiring.BundleWiring;

/**
 * The bundle as it is packed, in a real OSGi framework with the bundles of ONOS that it needs. What it imports and
 * nobody exports, or exports in another version, fails here and not in a running ONOS.
 */
class BundleIT {
    @TempDir
    static Path cache;
    private static Bundles bundles;
    private static Bundle app;

    @BeforeAll
    static void installAll() throws Exception {
        bundles = new Bundles(cache, Map.of());
        app = bundles.app();
    }

    @AfterAll
    static void stop() throws Exception {
        bundles.stop();
    }

    @Test
    void everyImportHasAnExporterAndTheBundleStarts() throws BundleException {
        app.start();
        assertEquals(Bundle.ACTIVE, app.getState());
        Set<String> fromFramework = new TreeSet<>();
        for (BundleWire wire : app.adapt(BundleWiring.class).getRequiredWires("osgi.wiring.package")) {
            if (wire.getProvider().getBundle() == bundles.framework()) {
                fromFramework.add(String.valueOf(wire.getCapability().getAttributes().get("osgi.wiring.package")));
            }
        }
        assertEquals(Set.of(), fromFramework, "these come from ONOS and not from the framework");
    }

    @Test
    void everyClassLinks() throws Exception {
        app.start();
        List<String> classes = new ArrayList<>();
        for (URL url : Collections.list(app.findEntries("org/slotwise/onos", "*.class", true))) {
            String path = url.getPath().substring(1);
            classes.add(path.substring(0, path.length() - ".class".length()).replace('/', '.'));
        }
        assertTrue(classes.size() > 20, classes::toString);
        for (String name : classes) {
            Class<?> type = app.loadClass(name);
            assertNotNull(type.getDeclaredMethods(), name);
            assertNotNull(type.getDeclaredConstructors(), name);
            assertNotNull(type.getDeclaredFields(), name);
        }
        assertNotNull(app.loadClass("org.slotwise.systems.star.app.StarController"));
        assertNotNull(app.loadClass("com.fasterxml.jackson.dataformat.yaml.YAMLMapper").getConstructor().newInstance());
    }

    /** They are named in a file of an archive in the bundle, which its class loader must find. */
    @Test
    void theSchedulersAreFound() throws Exception {
        app.start();
        Class<?> schedulers = app.loadClass("org.slotwise.systems.star.schedule.Schedulers");
        Object ours = schedulers.getMethod("ours").invoke(null);
        assertEquals(6, ((List<?>) schedulers.getMethod("all").invoke(ours)).size());
    }

    @Test
    void othersMayBuildOnTheApiAndOnNothingElse() {
        assertEquals(Set.of("org.slotwise.onos.api"), app.adapt(BundleRevision.class).getDeclaredCapabilities(
                BundleRevision.PACKAGE_NAMESPACE).stream()
                .map(capability -> String.valueOf(capability.getAttributes().get(BundleRevision.PACKAGE_NAMESPACE)))
                .collect(Collectors.toSet()));
    }

    private static String text(String entry) throws IOException {
        try (InputStream stream = app.getEntry(entry).openStream()) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** The servlet and its application are named in text only, so no compiler knows of them. */
    @Test
    void whatWebXmlNamesIsThere() throws Exception {
        app.start();
        String webXml = text("WEB-INF/web.xml");
        for (String name : List.of("org.glassfish.jersey.servlet.ServletContainer",
                "org.slotwise.onos.rest.OnosWebApplication")) {
            assertTrue(webXml.contains(">" + name + "<"));
            assertNotNull(app.loadClass(name));
        }
    }

    /** ONOS loads by the bundle's loader what the driver's definition names, interfaces too, which no class of the bundle need use. */
    @Test
    void whatTheDriverNamesIsThere() throws Exception {
        app.start();
        List<String> names = Pattern.compile("(?:api|impl)=\"([^\"]+)\"").matcher(text("slotwise-drivers.xml")).results()
                .map(match -> match.group(1)).collect(Collectors.toList());
        assertEquals(6, names.size());
        for (String name : names) {
            assertNotNull(app.loadClass(name), name);
        }
    }

    @Test
    void theManifestIsOneThatKarafStarts() throws IOException {
        String imports = app.getHeaders().get(Constants.IMPORT_PACKAGE);
        assertFalse(imports.contains("java."), "Karaf never starts a bundle that imports java.*");
        assertEquals("/onos/slotwise", app.getHeaders().get("Web-ContextPath"));
        assertEquals("org.slotwise.onos.cli", app.getHeaders().get("Karaf-Commands"));
        for (String component : app.getHeaders().get("Service-Component").split(",", -1)) {
            assertNotNull(app.getEntry(component), component);
        }
        assertNotNull(app.getEntry("org/slotwise/onos/SlotwiseManager.cfgdef"));
        assertTrue(text("OSGI-INF/org.slotwise.onos.pipeline.SlotwiseDriverLoader.xml")
                .contains("org.onosproject.net.driver.DriverAdminService"));
    }

    /** Karaf's web container reads all classes of a bundle with a web.xml, and fails at one without a superclass. */
    @Test
    void noArchiveOfTheClassPathHasAModuleInfo() throws IOException {
        for (String path : app.getHeaders().get(Constants.BUNDLE_CLASSPATH).split(",", -1)) {
            try (InputStream stream = path.equals(".") ? Files.newInputStream(Bundles.file().toPath())
                    : app.getEntry(path).openStream(); JarInputStream archive = new JarInputStream(stream)) {
                for (JarEntry entry = archive.getNextJarEntry(); entry != null; entry = archive.getNextJarEntry()) {
                    assertFalse(entry.getName().endsWith("module-info.class"), path + ": " + entry);
                }
            }
        }
    }

    @Test
    void aBundleThatLacksAnImportIsNotStarted() throws Exception {
        Path broken = cache.resolve("broken.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
        manifest.getMainAttributes().putValue(Constants.BUNDLE_MANIFESTVERSION, "2");
        manifest.getMainAttributes().putValue(Constants.BUNDLE_SYMBOLICNAME, "broken");
        manifest.getMainAttributes().putValue(Constants.IMPORT_PACKAGE, "org.onosproject.nowhere");
        new JarOutputStream(Files.newOutputStream(broken), manifest).close();
        Bundle bundle = bundles.install(broken.toFile());
        try {
            bundle.start();
        } catch (BundleException expected) {
            assertNotEquals(Bundle.ACTIVE, bundle.getState());
            return;
        }
        throw new AssertionError("a framework that starts this would find nothing");
    }

    @Test
    void theArchiveHasTheBundleAndNamesWhatItNeeds() throws IOException {
        try (ZipFile archive = new ZipFile(Bundles.file().getPath().replace(".jar", ".oar"))) {
            String description = new String(archive.getInputStream(archive.getEntry("app.xml")).readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(description.contains("name=\"org.slotwise.app\""));
            assertTrue(description.contains("org.onosproject.drivers.p4runtime"));
            assertTrue(description.contains("url=\"/onos/slotwise/page/\""), description);
            assertEquals(1, archive.stream().filter(entry -> entry.getName().endsWith(".jar")).count());
            assertEquals(1, archive.stream().filter(entry -> entry.getName().endsWith("-features.xml")).count());
        }
    }
}

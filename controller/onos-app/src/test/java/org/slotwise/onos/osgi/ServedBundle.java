// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.osgi;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceRegistration;
import org.osgi.util.tracker.ServiceTracker;

/**
 * The bundle in a real OSGi framework, served by the web container of ONOS's Karaf to users with roles as ONOS has them. In place of ONOS
 * and the app's component there is a star of {@code schema/examples}, whose switches obey at once.
 */
final class ServedBundle {
    static final String ADMIN = "onos:rocks";
    static final String VIEWER = "guest:seat";
    /** Has no role. */
    static final String STRANGER = "nobody:none";
    private static final String USERS = "onos: rocks, admin\nguest: seat, viewer\nnobody: none\n";
    @SuppressWarnings("InlineFormatString") // A file, for itself.
    private static final String REALM = "<?xml version=\"1.0\"?>\n"
            + "<!DOCTYPE Configure PUBLIC \"-//Jetty//Configure//EN\" \"http://www.eclipse.org/jetty/configure_9_0.dtd\">\n"
            + "<Configure class=\"org.eclipse.jetty.server.Server\"><Call name=\"addBean\"><Arg>"
            + "<New class=\"org.eclipse.jetty.security.HashLoginService\"><Set name=\"name\">karaf</Set><Set name=\"config\">%s</Set></New>"
            + "</Arg></Call></Configure>\n";
    private static final List<String> STARTED = List.of("org.glassfish.", "org.ops4j.pax.web.", "org.apache.felix.configadmin");
    private static final String CONTROLLER = "org.slotwise.rest.ControllerService";
    private static final String LEADER = "org.slotwise.onos.RemoteLeader";
    private static final long START_TIMEOUT_MS = 120_000;

    private final Bundles bundles;
    private final URI url;
    private ServiceRegistration<?> controller;
    private ServiceRegistration<?> leader;

    /** Starts it on a port of a loopback address; returns when it is served. */
    ServedBundle(Path directory, String host, int port) throws Exception {
        Path users = Files.writeString(directory.resolve("users.properties"), USERS);
        Path server = Files.writeString(directory.resolve("jetty.xml"), String.format(REALM, users));
        bundles = new Bundles(directory.resolve("bundles"), Map.of(
                "org.osgi.service.http.port", String.valueOf(port),
                "org.ops4j.pax.web.listening.addresses", host,
                "org.ops4j.pax.web.config.file", server.toString()));
        url = URI.create("http://" + host + ":" + port + "/onos/slotwise/");
        bundles.install(withTestClasses(directory).toFile());
        bundles.app().start();
        for (Bundle bundle : bundles.framework().getBundleContext().getBundles()) {
            if (STARTED.stream().anyMatch(bundle.getSymbolicName()::startsWith) && bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
                bundle.start();
            }
        }
        ServiceTracker<Object, Object> served = new ServiceTracker<>(bundles.framework().getBundleContext(), "javax.servlet.ServletContext", null);
        served.open(true);
        if (served.waitForService(START_TIMEOUT_MS) == null) {
            throw new IllegalStateException("the bundle is not served");
        }
        served.close();
        activate();
    }

    /** A port that nobody has. */
    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** A fragment of the bundle, whose classes are loaded as the bundle's own are. */
    private static Path withTestClasses(Path directory) throws IOException {
        Path file = directory.resolve("star.jar");
        List<Path> jars = Bundles.jars("slotwise-", "-tests.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
        manifest.getMainAttributes().putValue(Constants.BUNDLE_MANIFESTVERSION, "2");
        manifest.getMainAttributes().putValue(Constants.BUNDLE_SYMBOLICNAME, "star");
        manifest.getMainAttributes().putValue(Constants.FRAGMENT_HOST, "org.slotwise.slotwise-onos-app");
        manifest.getMainAttributes().putValue(Constants.BUNDLE_CLASSPATH,
                jars.stream().map(jar -> jar.getFileName().toString()).collect(Collectors.joining(",")));
        try (OutputStream out = Files.newOutputStream(file); JarOutputStream fragment = new JarOutputStream(out, manifest)) {
            for (Path jar : jars) {
                fragment.putNextEntry(new ZipEntry(jar.getFileName().toString()));
                Files.copy(jar, fragment);
            }
        }
        return file;
    }

    /** Where the resources and the page are. */
    URI url() {
        return url;
    }

    /** The controller is there, as when the app's component is active. */
    void activate() throws ReflectiveOperationException {
        Class<?> type = bundles.app().loadClass("org.slotwise.page.RunningApps");
        Object star = type.getMethod("of", String.class).invoke(null, "network-star4.json");
        controller = bundles.app().getBundleContext().registerService(CONTROLLER, type.getMethod("withDemand").invoke(star), null);
    }

    void deactivate() {
        controller.unregister();
    }

    /** From now on the node of this address leads; null for this one. */
    void leadBy(String address) throws ClassNotFoundException {
        if (leader != null) {
            leader.unregister();
        }
        leader = null;
        if (address != null) {
            Class<?> type = bundles.app().loadClass(LEADER);
            Object there = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, none) -> Optional.of(address));
            leader = bundles.app().getBundleContext().registerService(LEADER, there, null);
        }
    }

    void stop() throws Exception {
        bundles.stop();
    }

    /** Takes address, port and a directory for its files, says when it is served, and takes addresses of nodes that lead from stdin, until that ends. */
    public static void main(String[] args) throws Exception {
        ServedBundle served = new ServedBundle(Path.of(args[2]), args[0], Integer.parseInt(args[1]));
        System.out.println("served at " + served.url());
        BufferedReader addresses = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String address = addresses.readLine(); address != null; address = addresses.readLine()) {
            served.leadBy(address);
            System.out.println("led by " + address);
        }
        served.stop();
    }
}

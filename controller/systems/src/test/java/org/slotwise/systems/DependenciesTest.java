// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules that the compiler does not hold: read from the sources, by every qualified name in them. */
class DependenciesTest {
    private static final Path SYSTEMS = Path.of("src/main/java/org/slotwise/systems");
    private static final String SHARED = "shared";
    private static final String REST = "rest";
    private static final Pattern SYSTEM = Pattern.compile("\\borg\\.slotwise\\.systems\\.([a-z]+)\\.(\\w+)");
    private static final Pattern FRAMEWORK = Pattern.compile(
            "\\b(com\\.fasterxml|javax\\.ws|org\\.slotwise\\.(rest|page))\\.");

    private static List<Path> sources(Path below) throws IOException {
        try (Stream<Path> files = Files.walk(below)) {
            List<Path> sources = files.filter(file -> file.toString().endsWith(".java")).sorted().collect(Collectors.toList());
            assertFalse(sources.isEmpty(), below::toString);
            return sources;
        }
    }

    /** Names in the files below {@code within} that the rule does not allow. */
    private static List<String> broken(Path within, BiPredicate<String, String> isAllowed) throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path file : sources(within)) {
            Matcher named = SYSTEM.matcher(Files.readString(file));
            while (named.find()) {
                if (!isAllowed.test(named.group(1), named.group(2))) {
                    broken.add(file + ": " + named.group());
                }
            }
        }
        return broken;
    }

    private static Set<String> names() throws IOException {
        try (Stream<Path> files = Files.list(SYSTEMS)) {
            Set<String> names = files.filter(Files::isDirectory).map(file -> file.getFileName().toString())
                    .collect(Collectors.toCollection(TreeSet::new));
            names.remove(SHARED);
            return names;
        }
    }

    @Test
    void eachSystemHasAPackageOfItsName() throws Exception {
        assertEquals(new TreeSet<>(Systems.all().all().keySet()), names());
    }

    @Test
    void aSystemNamesNoOtherSystem() throws Exception {
        for (String name : names()) {
            assertEquals(List.of(), broken(SYSTEMS.resolve(name), (other, part) -> other.equals(name) || other.equals(SHARED)));
        }
        assertEquals(List.of(), broken(SYSTEMS.resolve(SHARED), (other, part) -> other.equals(SHARED)));
    }

    @Test
    void aModelNamesNoApplication() throws Exception {
        for (String name : names()) {
            assertEquals(List.of(), broken(SYSTEMS.resolve(name).resolve("model"), (other, part) -> part.equals("model")));
        }
    }

    @Test
    void onlyPackagesOfRestNameAFramework() throws Exception {
        List<String> broken = new ArrayList<>();
        for (Path file : sources(SYSTEMS)) {
            Path place = SYSTEMS.relativize(file);
            boolean isPure = place.getNameCount() > 1 && !place.getName(1).toString().equals(REST);
            Matcher named = FRAMEWORK.matcher(Files.readString(file));
            if (isPure && named.find()) {
                broken.add(file + ": " + named.group());
            }
            if (isPure) {
                broken.addAll(broken(file, (other, part) -> !part.equals(REST)));
            }
        }
        assertEquals(List.of(), broken);
    }

    @Test
    void hostsNameSystemsByTheirListAlone() throws Exception {
        Set<String> naming = new TreeSet<>();
        for (String host : List.of("standalone", "onos-app")) {
            for (Path file : sources(Path.of("..", host, "src/main/java"))) {
                if (SYSTEM.matcher(Files.readString(file)).find()) {
                    naming.add(host + "/" + file.getFileName().toString().replace(".java", ""));
                }
            }
        }
        assertEquals(Set.of(), naming);
    }
}

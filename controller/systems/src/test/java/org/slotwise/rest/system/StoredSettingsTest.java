// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.slotwise.page.RunningApps;
import org.slotwise.systems.Systems;

class StoredSettingsTest {
    private static final Pattern NAME = Pattern.compile("`([a-z]+/[a-z]+)`");

    @Test
    void theReadmeListsSettingsThatAreStored() throws Exception {
        Set<String> stored = new TreeSet<>();
        for (String network : RunningApps.examples()) {
            NetworkDocument.decode("", RunningApps.example(network), Systems.all()).parts().values()
                    .forEach(part -> part.resources().settings().forEach((name, setting) -> {
                        if (setting.isStored()) {
                            stored.add(part.id() + "/" + name);
                        }
                    }));
        }
        String readme = Files.readString(Path.of("../README.md"));
        int begin = readme.indexOf("The store has");
        Matcher names = NAME.matcher(readme.substring(begin, readme.indexOf("A stored value", begin)));
        Set<String> listed = new TreeSet<>();
        while (names.find()) {
            listed.add(names.group(1));
        }
        assertEquals(stored, listed);
    }
}

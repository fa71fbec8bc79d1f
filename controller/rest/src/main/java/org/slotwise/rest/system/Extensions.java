// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** Kinds of systems with what their sections of a host's configuration add to them. */
public final class Extensions implements AutoCloseable {
    private final List<Extension> all = new ArrayList<>();
    private SystemKinds kinds;

    private Extensions(SystemKinds kinds) {
        this.kinds = kinds;
    }

    /** Returns the keys of all sections. */
    public static List<String> sections(SystemKinds known) {
        List<String> sections = new ArrayList<>();
        known.all().values().forEach(system -> system.section().ifPresent(sections::add));
        return sections;
    }

    /**
     * Reads the sections that are there.
     *
     * @param isVirtualTime whether time stands still while an extension works
     */
    public static Extensions read(JsonFields configuration, SystemKinds known, boolean isVirtualTime)
            throws IOException, InvalidJsonException {
        Extensions read = new Extensions(known);
        try {
            for (SystemKind<?> system : known.all().values()) {
                read.add(configuration, system, isVirtualTime);
            }
            return read;
        } catch (IOException | InvalidJsonException | RuntimeException | Error e) {
            read.close();
            throw e;
        }
    }

    private void add(JsonFields configuration, SystemKind<?> system, boolean isVirtualTime)
            throws IOException, InvalidJsonException {
        Optional<JsonNode> section = system.section().flatMap(configuration::optional);
        if (section.isPresent()) {
            String place = configuration.place(system.section().orElseThrow());
            Extension extension = system.extend(place, section.get(), isVirtualTime);
            all.add(extension);
            kinds = kinds.with(extension.kind());
        }
    }

    /** Returns the kinds, with their extensions. */
    public SystemKinds kinds() {
        return kinds;
    }

    /** Starts what the first use would wait for. */
    public void prepare() {
        all.forEach(Extension::prepare);
    }

    @Override
    public void close() {
        all.forEach(Extension::close);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** Applications with what their sections of a host's configuration add to them. */
public final class Extensions implements AutoCloseable {
    private final List<Extension> all = new ArrayList<>();
    private Applications applications;

    private Extensions(Applications applications) {
        this.applications = applications;
    }

    /** Returns the keys of all sections. */
    public static List<String> sections(Applications known) {
        List<String> sections = new ArrayList<>();
        known.all().values().forEach(application -> application.section().ifPresent(sections::add));
        return sections;
    }

    /**
     * Reads the sections that are there.
     *
     * @param isVirtualTime whether time stands still while an extension works
     */
    public static Extensions read(JsonFields configuration, Applications known, boolean isVirtualTime)
            throws IOException, InvalidJsonException {
        Extensions read = new Extensions(known);
        try {
            for (Application<?> application : known.all().values()) {
                read.add(configuration, application, isVirtualTime);
            }
            return read;
        } catch (IOException | InvalidJsonException | RuntimeException | Error e) {
            read.close();
            throw e;
        }
    }

    private void add(JsonFields configuration, Application<?> application, boolean isVirtualTime)
            throws IOException, InvalidJsonException {
        Optional<JsonNode> section = application.section().flatMap(configuration::optional);
        if (section.isPresent()) {
            String place = configuration.place(application.section().orElseThrow());
            Extension extension = application.extend(place, section.get(), isVirtualTime);
            all.add(extension);
            applications = applications.with(extension.application());
        }
    }

    /** Returns the applications, with their extensions. */
    public Applications applications() {
        return applications;
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

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.karaf.shell.api.action.Argument;
import org.apache.karaf.shell.api.action.Command;
import org.apache.karaf.shell.api.action.Option;
import org.apache.karaf.shell.api.action.lifecycle.Service;
import org.onosproject.cli.AbstractShellCommand;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** Systems of the network and their resources: one of these is shown as text, or as REST has it, or changed. */
@Service
@Command(scope = "onos", name = "slotwise-app", description = "List the applications of the network, or show or change a resource of one")
public final class AppCommand extends AbstractShellCommand {
    @Argument(index = 0, name = "application", description = "Application; omit it to list them")
    String application;

    @Argument(index = 1, name = "resource", description = "Resource of the application, such as mode or weights/3001; omit it to list them")
    String resource;

    @Option(name = "--delete", description = "Delete the resource, such as sessions/film")
    boolean delete;

    @Argument(index = 2, name = "json", description = "New value, JSON as in REST")
    String json;

    @Override
    protected void doExecute() {
        Collection<SystemResources<?>> apps = get(ControllerService.class).apps();
        try {
            if (application == null) {
                lines(apps).forEach(line -> print("%s", line));
            } else if (resource == null) {
                print("%s", line(named(apps, application)));
            } else {
                show(named(apps, application));
            }
        } catch (InvalidJsonException e) {
            error("%s", e.getMessage());
        }
    }

    private void show(SystemResources<?> app) throws InvalidJsonException {
        Supplier<List<String>> text = app.texts().get(resource);
        if (delete) {
            app.delete(resource);
        } else if (json != null) {
            print("%s", change(app, resource, json));
        } else if (text != null && !outputJson()) {
            text.get().forEach(line -> print("%s", line));
        } else {
            print("%s", app.read(resource));
        }
    }

    static List<String> lines(Collection<SystemResources<?>> apps) {
        return apps.stream().map(AppCommand::line).collect(Collectors.toList());
    }

    private static String line(SystemResources<?> app) {
        return String.format("%s: %s Resources: %s; changeable: %s", app.id(), app.description(),
                String.join(", ", app.reads().keySet()), app.reads().keySet().stream().filter(app::canChange).collect(Collectors.joining(", ")));
    }

    static SystemResources<?> named(Collection<SystemResources<?>> apps, String id) throws InvalidJsonException {
        return apps.stream().filter(app -> app.id().equals(id)).findFirst().orElseThrow(() -> new InvalidJsonException("application",
                "unknown application '" + id + "'; expected one of " + apps.stream().map(SystemResources::id).collect(Collectors.joining(", "))));
    }

    static JsonNode change(SystemResources<?> app, String path, String body) throws InvalidJsonException {
        return app.change(path, JsonFields.parse(body.getBytes(StandardCharsets.UTF_8)));
    }
}

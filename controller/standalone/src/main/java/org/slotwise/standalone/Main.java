// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppHost;
import org.slotwise.rest.json.InvalidJsonException;

/** Runs the controller: {@code java -jar slotwise-controller.jar --config FILE}. */
public final class Main {
    private static final int EXIT_STOPPED = 0;
    private static final int EXIT_FAILED = 1;
    private static final int EXIT_USAGE = 2;
    private static final String USAGE = "usage: slotwise-controller --config FILE";

    private static volatile int exitStatus = EXIT_STOPPED;

    private Main() {
    }

    /** Ends with status 0 after SIGTERM or SIGINT, 1 if it cannot go on, 2 if called wrongly. */
    public static void main(String[] args) {
        Log.configure(false);
        if (args.length == 1 && args[0].equals("--help")) {
            System.out.println(USAGE);
            return;
        }
        if (args.length != 2 || !args[0].equals("--config")) {
            System.err.println(USAGE);
            System.exit(EXIT_USAGE);
        }
        try {
            run(Configuration.read(Path.of(args[1])));
        } catch (NoSuchFileException e) {
            stop(e.getFile() + ": no such file");
        } catch (InvalidJsonException | AppHost.ConflictException | IOException e) {
            stop(e.getMessage());
        }
    }

    private static void run(Configuration configuration) throws IOException {
        Log.configure(configuration.jsonLog());
        StandaloneController controller = StandaloneController.start(configuration);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            controller.close();
            // The JVM would end with 128 + the signal's number, though a stop that was asked for is no failure.
            Runtime.getRuntime().halt(exitStatus);
        }, "shutdown"));
        controller.configured().thenRun(() -> {
            ObjectNode ready = event("ready").put("rest", controller.restUrl());
            controller.describe(ready);
            tell(ready);
        });
        try {
            controller.failure().get();
        } catch (ExecutionException e) {
            LoggerFactory.getLogger(Main.class).error("internal error or incompatible program", e.getCause());
            stop("the controller failed: " + e.getCause().getMessage());
        } catch (InterruptedException e) {
            stop("interrupted");
        }
    }

    /** A line for whoever started this program; {@link #tell} prints it. */
    static ObjectNode event(String name) {
        return JsonNodeFactory.instance.objectNode().put("event", name);
    }

    /** Prints an event. */
    static void tell(ObjectNode event) {
        System.out.println(event);
    }

    private static void stop(String reason) {
        System.err.println("slotwise-controller: " + reason);
        exitStatus = EXIT_FAILED;
        System.exit(EXIT_FAILED);
    }
}

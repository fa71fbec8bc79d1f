// SPDX-License-Identifier: Apache-2.0
package org.slotwise.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collection;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.util.Statistics;

/** Runs {@link SchedulingBenchmark}, compares with the last run that is kept, and keeps this one. */
public final class SchedulingBenchmarks {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final String[] PARAMETERS = {"scheduler", "size", "load", "start"};

    private SchedulingBenchmarks() {
    }

    /** Takes the file of results, which is made if need be, and options of JMH. */
    public static void main(String[] args) throws IOException, RunnerException, CommandLineOptionException {
        Path file = Path.of(args[0]);
        String[] options = Arrays.copyOfRange(args, 1, args.length);
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                .parent(new CommandLineOptions(options)).include(SchedulingBenchmark.class.getName()).build()).run();
        ObjectNode all = Files.exists(file) ? (ObjectNode) JSON.readTree(file.toFile()) : JSON.createObjectNode();
        ArrayNode runs = all.withArray("runs");
        ObjectNode run = describe(results);
        print(run, runs);
        runs.add(run);
        JSON.writeValue(file.toFile(), all);
    }

    private static ObjectNode describe(Collection<RunResult> results) throws IOException {
        ObjectNode run = JSON.createObjectNode()
                .put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString())
                .put("machine", processor() + ", " + Runtime.getRuntime().availableProcessors() + " cores")
                .put("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.version"));
        ArrayNode rows = run.putArray("results");
        for (RunResult result : results) {
            ObjectNode row = rows.addObject();
            for (String parameter : PARAMETERS) {
                row.put(parameter, result.getParams().getParam(parameter));
            }
            Statistics times = result.getPrimaryResult().getStatistics();
            row.put("samples", times.getN()).put("p50_us", us(times.getPercentile(50)))
                    .put("p99_us", us(times.getPercentile(99))).put("max_us", us(times.getMax()));
        }
        return run;
    }

    private static double us(double ns) {
        return Math.round(ns / 10) / 100.0;
    }

    private static String processor() throws IOException {
        Path info = Path.of("/proc/cpuinfo");
        if (!Files.isReadable(info)) {
            return System.getProperty("os.arch");
        }
        try (var lines = Files.lines(info)) {
            return lines.filter(line -> line.startsWith("model name")).findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip()).orElse(System.getProperty("os.arch"));
        }
    }

    private static void print(ObjectNode run, ArrayNode before) {
        System.out.printf("%n%-15s %-10s %-8s %-12s %11s %11s %11s   %s%n",
                "scheduler", "size", "load", "start", "p50 us", "p99 us", "max us", "p50 before, us (date)");
        for (JsonNode row : run.get("results")) {
            System.out.printf("%-15s %-10s %-8s %-12s %11.1f %11.1f %11.1f   %s%n", row.get("scheduler").textValue(),
                    row.get("size").textValue(), row.get("load").textValue(), row.get("start").textValue(),
                    row.get("p50_us").doubleValue(), row.get("p99_us").doubleValue(), row.get("max_us").doubleValue(),
                    lastTime(row, before));
        }
    }

    private static String lastTime(JsonNode row, ArrayNode before) {
        for (int k = before.size() - 1; k >= 0; k--) {
            for (JsonNode other : before.get(k).get("results")) {
                boolean same = true;
                for (String parameter : PARAMETERS) {
                    same &= row.get(parameter).equals(other.get(parameter));
                }
                if (same) {
                    return String.format("%.1f (%s)", other.get("p50_us").doubleValue(),
                            before.get(k).get("date").textValue());
                }
            }
        }
        return "-";
    }
}

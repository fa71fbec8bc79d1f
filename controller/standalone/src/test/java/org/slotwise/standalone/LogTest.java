// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.LoggerContext;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class LogTest {
    private final PrintStream stderr = System.err;

    @AfterEach
    void quiet() {
        System.setErr(stderr);
        ((LoggerContext) LoggerFactory.getILoggerFactory()).reset();
        ((LoggerContext) LoggerFactory.getILoggerFactory()).getLogger("ROOT")
                .setLevel(ch.qos.logback.classic.Level.OFF);
    }

    private String logged(boolean json) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        Log.configure(json);
        LoggerFactory.getLogger("org.slotwise.Test").info("two lines,\n\"quoted\"");
        LoggerFactory.getLogger("io.library.Test").info("of no interest");
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void jsonLogIsOneObjectALine() throws Exception {
        String text = logged(true);
        assertEquals(1, text.lines().count());
        JsonNode entry = new ObjectMapper().readTree(text);
        assertEquals("INFO", entry.get("level").textValue());
        assertEquals("two lines,\n\"quoted\"", entry.get("message").textValue());
        assertEquals("org.slotwise.Test", entry.get("loggerName").textValue());
        assertTrue(entry.get("timestamp").longValue() > 0);
    }

    @Test
    void textLogNamesLevelAndClass() {
        assertTrue(logged(false).contains("INFO  Test - two lines"));
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.encoder.EncoderBase;
import org.slf4j.LoggerFactory;

/** The log, on stderr: lines for people, or one JSON object a line for machines. */
final class Log {
    private static final String PATTERN = "%d{HH:mm:ss.SSS} %-5level %logger{0} - %msg%n";
    /** Name of the system property for how much the controller itself says. */
    private static final String LEVEL = "slotwise.log.level";

    private Log() {
    }

    /** Sets it up, or anew; what libraries say below a warning is not of interest. */
    static void configure(boolean json) {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.reset();
        EncoderBase<ILoggingEvent> encoder = json ? new JsonEncoder() : pattern();
        encoder.setContext(context);
        encoder.start();
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setContext(context);
        appender.setTarget("System.err");
        appender.setEncoder((Encoder<ILoggingEvent>) encoder);
        appender.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(appender);
        context.getLogger("org.slotwise").setLevel(Level.toLevel(System.getProperty(LEVEL), Level.INFO));
    }

    private static PatternLayoutEncoder pattern() {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setPattern(PATTERN);
        return encoder;
    }
}

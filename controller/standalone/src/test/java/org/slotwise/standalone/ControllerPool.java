// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * Controllers of many short runs in one process: {@code ControllerPool SOCKET}.
 *
 * <p>Each connection starts a controller: its first line is the path of the configuration, and the controller lives until the
 * client closes its side. What the controller prints arrives as lines {@code out TEXT} and {@code err TEXT}; the last line is
 * {@code exit STATUS}. Runs of the test suite start a Java process each without it, which takes longer than most of them.
 */
final class ControllerPool {
    private static final InheritableThreadLocal<Connection> CURRENT = new InheritableThreadLocal<>();

    private ControllerPool() {
    }

    public static void main(String[] args) throws IOException {
        System.setOut(new PrintStream(new Routed("out", System.out), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Routed("err", System.err), true, StandardCharsets.UTF_8));
        Log.configure(false);
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(Path.of(args[0])));
            while (true) {
                Connection connection = new Connection(server.accept());
                Thread thread = new Thread(connection::serve, "connection");
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    /** A run's controller, as long as the run holds the connection. */
    private static final class Connection {
        private final SocketChannel channel;

        Connection(SocketChannel channel) {
            this.channel = channel;
        }

        void serve() {
            CURRENT.set(this);
            int status = 1;
            try (channel; BufferedReader lines = new BufferedReader(
                    new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8))) {
                try (StandaloneController controller = StandaloneController.start(Configuration.read(Path.of(lines.readLine())))) {
                    controller.configured().thenRun(() -> {
                        ObjectNode ready = JsonNodeFactory.instance.objectNode().put("event", "ready").put("rest", controller.restUrl());
                        controller.describe(ready);
                        print("out", ready.toString());
                    });
                    CompletableFuture<Void> closed = CompletableFuture.runAsync(() -> untilClosed(lines), task -> new Thread(task).start());
                    CompletableFuture.anyOf(closed, controller.failure()).join();
                    status = 0;
                } catch (IOException | InvalidJsonException | RuntimeException e) {
                    print("err", "slotwise-controller: " + e.getMessage());
                }
                print("exit", Integer.toString(status));
            } catch (IOException e) {
                // The run has gone without waiting.
            }
        }

        private static void untilClosed(BufferedReader lines) {
            try {
                String line;
                do {
                    line = lines.readLine();
                } while (line != null);
            } catch (IOException e) {
                // Closed, too.
            }
        }

        /** Writes a line. A stream of the channel would wait for the read that is under way. */
        synchronized void print(String stream, String text) {
            ByteBuffer line = ByteBuffer.wrap((stream + " " + text + "\n").getBytes(StandardCharsets.UTF_8));
            try {
                while (line.hasRemaining()) {
                    channel.write(line);
                }
            } catch (IOException e) {
                // The run has gone without waiting.
            }
        }
    }

    /** A standard stream whose lines go to the connection of the thread that writes them. */
    private static final class Routed extends OutputStream {
        private final String name;
        private final PrintStream original;
        private final ThreadLocal<StringBuilder> line = ThreadLocal.withInitial(StringBuilder::new);

        Routed(String name, PrintStream original) {
            this.name = name;
            this.original = original;
        }

        @Override
        public void write(int value) {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            Connection connection = CURRENT.get();
            if (connection == null) {
                original.write(bytes, offset, length);
                return;
            }
            StringBuilder begun = line.get().append(new String(bytes, offset, length, StandardCharsets.UTF_8));
            int end;
            while ((end = begun.indexOf("\n")) >= 0) {
                connection.print(name, begun.substring(0, end));
                begun.delete(0, end + 1);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/** A way to a server on which, from some moment on, nothing moves any more, and nobody is told: as when a switch loses its power. */
final class FrozenPath implements AutoCloseable {
    /** Each that was opened. */
    final BlockingQueue<Socket> connections = new LinkedBlockingQueue<>();
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final String target;
    private volatile boolean frozen;

    FrozenPath(String target) throws IOException {
        this.target = target;
        begin(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    void freeze() {
        frozen = true;
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void begin(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException ended) {
                return;
            }
        }, "path");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = server.accept();
            int colon = target.lastIndexOf(':');
            Socket switchEnd = new Socket(target.substring(0, colon), Integer.parseInt(target.substring(colon + 1)));
            sockets.addAll(List.of(client, switchEnd));
            begin(() -> carry(client, switchEnd));
            begin(() -> carry(switchEnd, client));
            connections.add(client);
        }
    }

    private void carry(Socket from, Socket to) throws IOException {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        byte[] buffer = new byte[8192];
        for (int length = in.read(buffer); length >= 0 && !frozen; length = in.read(buffer)) {
            out.write(buffer, 0, length);
            out.flush();
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}

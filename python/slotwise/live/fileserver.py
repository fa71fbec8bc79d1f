# SPDX-License-Identifier: Apache-2.0
"""`python3 -m slotwise.live.fileserver IP PORT DIRECTORY CONGESTION_CONTROL`: Python's HTTP server for a host's files.

`python3 -m http.server` looks up the host's name before it listens; in a host's namespace, without DNS, this takes a
timeout of seconds.
"""

import functools
import socket
import socketserver
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """HTTP server that binds without a name look-up."""

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address


def main() -> None:
    """Serves until killed; prints one line once it listens."""
    ip, port, directory, congestion_control = sys.argv[1:]
    handler = functools.partial(SimpleHTTPRequestHandler, directory=directory)
    with FileServer((ip, int(port)), handler) as server:
        # Connections that are accepted inherit it.
        server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        print(f"listening on {ip}:{port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()

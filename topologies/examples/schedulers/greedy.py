# SPDX-License-Identifier: Apache-2.0
"""Custom scheduler called over HTTP: in each slot, the pair with the largest demand is connected first (docs/write-your-own.md)."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Greedy(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        left, edges = asked["demand"], range(asked["edges"])
        schedule = [[-1] * asked["edges"] for _ in range(asked["slots"])]
        for receivers in schedule:
            for wanted, sender, receiver in sorted((-left[s][r], s, r) for s in edges for r in edges):
                if wanted < 0 and receivers[sender] < 0 and receiver not in receivers:
                    receivers[sender] = receiver
                    left[sender][receiver] -= 1
        self.send_response_only(200)  # without a line in the log
        self.end_headers()
        self.wfile.write(json.dumps({"version": 1, "schedule": schedule}).encode())


server = HTTPServer(("127.0.0.1", 0), Greedy)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()  # ends when the controller does

"""The local page as a process of its own, and requests as bytes."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

HANG_S = 120  # against a hang alone


class LiveServer:
    """A running `manyhands serve`: its address, and what it left behind when it was ended."""

    def __init__(self, process, home):
        self.process, self.home = process, home
        told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        self.url, self.page = told["url"], told["page"]
        self.port, self.path = urlsplit(self.url).port, urlsplit(self.url).path.rstrip("/")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S)

    def ask(self, content):
        """Send bytes, of which the server may refuse the rest; status and body, or None, b""."""
        with self.connect() as client:
            with suppress(ConnectionError):  # it has heard enough
                client.sendall(content)
            return answer_of(client)

    def get(self, path):
        return self.ask(head("GET", self.path + path))

    def post(self, path, body=b"", kind="application/x-www-form-urlencoded"):
        more = (f"Content-Type: {kind}", f"Content-Length: {len(body)}")
        return self.ask(head("POST", self.path + path, *more) + body)

    def wait(self, path):
        """Wait until a job has ended, and succeeded."""
        while (state := json.loads(self.get(f"{path}/state")[1]))["busy"]:
            threading.Event().wait(0.05)
        assert state["state"] == "done"

    def end(self, number=signal.SIGTERM):
        """End it by a signal; the exit code, and the rest of its output."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=HANG_S)
        return self.process.returncode, out, err


def head(method, target, *more, host="127.0.0.1", version="HTTP/1.1"):
    """The head of a request."""
    lines = [f"{method} {target} {version}", f"Host: {host}", "Connection: close", *more, "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def answer_of(client):
    answer = http.client.HTTPResponse(client)
    try:
        answer.begin()
        return answer.status, answer.read()
    except (http.client.HTTPException, ConnectionError, ValueError):
        return None, b""


@contextmanager
def live_server(home, *words):
    """`manyhands serve` with its temporary files in a folder; a new process group."""
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from manyhands.cli.app import main\n"
        "sys.argv[0] = 'manyhands'\nmain()\n"
    )
    command = [sys.executable, "-c", program, "serve", "--no-browser", "--json", *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(home)},
    )  # fmt: skip
    try:
        yield LiveServer(process, home)
    finally:
        process.kill()
        process.communicate()

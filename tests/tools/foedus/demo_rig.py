"""A running `foedus demo` for tests: tiny databases, and the events of the page."""

import http.client
import json
import os
import signal
import subprocess
import tempfile

BIN = os.environ.get("FOEDUS_BIN_DIR", "")
FOEDUS = os.path.join(BIN, "foedus")
WAIT_S = 90  # for an event; far more than any takes


def why_no_demo():
    """Returns why this build has no demo; None if it has one."""
    if not os.path.exists(os.path.join(BIN, "tpcc_live")) or not os.path.exists(FOEDUS):
        return "no bin/foedus or bin/tpcc_live"
    done = subprocess.run([FOEDUS, "demo", "--port", "0", "--dir", "/nowhere"], check=False,
                          capture_output=True, text=True)
    return "built without cpp-httplib or chart.js" if "has no demo" in done.stderr else None


class Demo:

    def __init__(self):
        self.parent = tempfile.TemporaryDirectory(
            dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.process = subprocess.Popen(
            [FOEDUS, "demo", "--port", "0", "--small", "--dir", self.parent.name],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def children(self):
        path = f"/proc/{self.process.pid}/task"
        found = []
        for thread in os.listdir(path):
            with open(f"{path}/{thread}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        return found

    def post(self, path, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("POST", path, headers={"Content-Length": "0", **(headers or {})})
        status = connection.getresponse().status
        connection.close()
        return status

    def events(self):
        """Yields the events from the first that is kept on."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("GET", "/events")
        try:
            with connection.getresponse() as response:
                for line in response:
                    if line.startswith(b"data: "):
                        yield json.loads(line[6:])
        finally:
            connection.close()

    def interrupt(self):
        """Ends the demo as Ctrl-C does; returns its status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_S)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(WAIT_S)
        self.process.stdout.close()
        self.parent.cleanup()

"""Runs `foedus demo` on two tiny databases and follows the events of its page: both make progress,
one that is killed by its button comes back with all that was acknowledged, and SIGINT leaves
neither a process nor a directory.
"""

import os
import socket
import subprocess
import unittest

from demo_rig import FOEDUS, Demo, why_no_demo

BUTTON = {"X-Foedus-Demo": "1"}


def fails(*arguments):
    return subprocess.run([FOEDUS, "demo", *arguments], capture_output=True, text=True, check=False)


@unittest.skipIf(why_no_demo(), why_no_demo())
class DemoTest(unittest.TestCase):

    def wait_for(self, events, instance, event):
        for line in events:
            self.assertNotIn(line["event"], ("failed", "check_failed"), line)
            if (line["instance"], line["event"]) == (instance, event):
                return line
        self.fail(f"the events ended before {event} of {instance}")

    def wait_for_commits(self, events, instance):
        while True:
            sample = self.wait_for(events, instance, "sample")
            if sample["txn_per_s"] > 0:
                return sample

    def test_killed_instance_resumes_with_all_acknowledged_orders(self):
        demo = Demo()
        self.addCleanup(demo.close)
        events = demo.events()
        self.wait_for_commits(events, "snapshots")
        before = self.wait_for_commits(events, "log-only")
        self.assertGreater(before["log_bytes"], 0)
        children = demo.children()
        self.assertEqual(len(children), 2)

        self.assertEqual(demo.post("/kill/snapshots"), 403)  # as a page of another site asks
        for instance in ("snapshots", "log-only"):
            self.assertEqual(demo.post("/kill/" + instance, BUTTON), 204)
            self.wait_for(events, instance, "killed")
            self.assertGreater(self.wait_for(events, instance, "first_read")["ms"], 0)
            checked = self.wait_for(events, instance, "checked")
            self.assertGreater(checked["acknowledged"], 0)
            self.assertEqual(checked["recovered"], checked["acknowledged"])
            self.assertEqual(checked["lost"], 0)
            self.wait_for_commits(events, instance)
        children += demo.children()

        self.assertEqual(demo.interrupt(), 0)
        self.assertEqual([pid for pid in children if os.path.exists(f"/proc/{pid}")], [])
        self.assertEqual(os.listdir(demo.parent.name), [])

    def test_port_in_use_is_status_2(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = fails("--port", str(taken.getsockname()[1]))
        self.assertEqual(done.returncode, 2)
        self.assertIn("is in use", done.stderr)

    def test_directory_that_cannot_be_written_is_status_2(self):
        done = fails("--port", "0", "--dir", "/proc")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot make a directory in /proc", done.stderr)


if __name__ == "__main__":
    unittest.main()

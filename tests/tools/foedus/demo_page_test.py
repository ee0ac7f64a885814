"""Shows the page of `foedus demo` in Chromium without a window: both curves move, the button kills
an instance, which then resumes with all that was acknowledged. Skipped where there is no Chromium.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from demo_rig import WAIT_S, Demo, why_no_demo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """Chromium with one page, driven by the DevTools protocol on a pair of pipes."""

    def __init__(self, url, width=1200, height=1000, dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_out, self.commands = os.pipe()
        answers_in, answers_out = os.pipe()
        self.answers = os.fdopen(answers_in, "rb")
        self.rest = b""
        self.number = 0
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{command_out} 4>&{answers_out}', "sh", CHROMIUM,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + self.profile.name, f"--window-size={width},{height}",
             "--no-first-run", "--disable-dev-shm-usage", "about:blank"],
            pass_fds=(command_out, answers_out), stderr=subprocess.DEVNULL)
        os.close(command_out)
        os.close(answers_out)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_answer()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def next_answer(self):
        while b"\0" not in self.rest:
            read = self.answers.read1(1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self.rest += read
        answer, self.rest = self.rest.split(b"\0", 1)
        return json.loads(answer)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    def wait_until(self, expression):
        end = time.monotonic() + WAIT_S
        while self.value(expression) is not True:
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}\n"
                                     + str(self.value("document.body.innerText")))
            time.sleep(0.1)

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        try:
            os.write(self.commands, b'{"id":0,"method":"Browser.close"}\0')
            self.process.wait(WAIT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            os.close(self.commands)
            self.answers.close()
            self.profile.cleanup()


def points(instance):
    return (f"panels['{instance}']?.charts.txn.data.datasets[0].data"
            ".filter((point) => point.y > 0).length")


@unittest.skipUnless(CHROMIUM, "no chromium: apt-get install chromium")
@unittest.skipIf(why_no_demo(), why_no_demo())
class DemoPageTest(unittest.TestCase):

    def test_curves_move_and_button_kills_instance_that_resumes(self):
        demo = Demo()
        self.addCleanup(demo.close)
        browser = Browser(demo.url, width=500, height=400)
        self.addCleanup(browser.close)
        for instance in ("snapshots", "log-only"):
            browser.wait_until(f"typeof panels === 'object' && {points(instance)} >= 2")
        text = "document.getElementById('snapshots').innerText"
        browser.value("document.querySelector('#snapshots button').click()")
        browser.wait_until(f"{text}.includes('lost 0')")
        browser.wait_until("panels.snapshots.marks.some((mark) => mark.kind === 'kill')")
        seen = browser.value(points("snapshots"))
        browser.wait_until(f"{text}.includes('running') && {points('snapshots')} > {seen}")
        names = browser.value("[...document.querySelectorAll('button')]"
                              ".map((button) => button.ariaLabel).join('; ')")
        self.assertEqual(names, "Kill and restart: Log and snapshots; Kill and restart: Log only")


if __name__ == "__main__":
    unittest.main()

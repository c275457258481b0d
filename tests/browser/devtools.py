"""A headless Chromium, driven over the DevTools protocol through a pair of pipes.

Messages are JSON, each ended by a zero byte. https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ANSWER_TIMEOUT_S = 60.0
_KEYS = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


# A browser with a pipe reads from 3 and writes to 4; both are moved up first, out of the way.
_START = (
    "import fcntl, os, sys\n"
    "ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]\n"
    "for end, place in zip(ends, (3, 4)): os.dup2(end, place)\n"
    "for end in ends: os.close(end)\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)


class Browser:
    """One process. `events` holds (session, method, parameters) of all that it said unasked."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._pending = b""
        self._last_id = 0
        self.events: list[tuple[str | None, str, dict[str, Any]]] = []

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Raises RuntimeError with what the browser says where it refuses."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def wait_for(self, session: str, method: str) -> None:
        while not any(s == session and m == method for s, m, _ in self.events):
            self._read()

    def _read(self) -> dict[str, Any]:
        """The next message; an event is kept."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._from], [], [], deadline - time.monotonic())
            chunk = os.read(self._from, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser said nothing, or ended")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append((message.get("sessionId"), message["method"], message["params"]))
        return message


class Page:
    """A tab of its own: `theme` is what the reader's system prefers."""

    def __init__(self, browser: Browser, url: str, *, width: int, theme: str) -> None:
        self._browser = browser
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **screen)
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask("Page.navigate", url=url)
        browser.wait_for(self._session, "Page.loadEventFired")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        named = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        typed = {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **named, **typed)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **named)

    def point_at(self, x: float, y: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def said(self, *methods: str) -> list[dict[str, Any]]:
        """What this page told unasked under these names."""
        return [p for s, m, p in self._browser.events if s == self._session and m in methods]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        answer = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def running_browser(program: str, profile: Path) -> Iterator[Browser]:
    """Ends the process on every path. `profile` is a folder of its own."""
    in_browser, to_browser = os.pipe()
    from_browser, out_browser = os.pipe()
    argv = [
        *(sys.executable, "-c", _START, str(in_browser), str(out_browser), program),
        *("--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}"),
        *("--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--disable-extensions", "--hide-scrollbars"),
        *(["--no-sandbox"] if os.geteuid() == 0 else []),  # it refuses root otherwise
    ]
    with (profile / "stderr.txt").open("wb") as stderr:
        process = subprocess.Popen(
            argv, pass_fds=(in_browser, out_browser), stdout=stderr, stderr=stderr
        )
    os.close(in_browser)
    os.close(out_browser)
    browser = Browser(to_browser, from_browser)
    try:
        yield browser
        browser.ask("Browser.close")
    finally:
        os.close(to_browser)
        os.close(from_browser)
        try:
            process.wait(timeout=20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

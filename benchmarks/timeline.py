"""The timeline on a large profile: windows from the server, paint, frames and memory in a browser.

    .venv/bin/python benchmarks/timeline.py                       10 million events, made anew
    .venv/bin/python benchmarks/timeline.py --events 1e8          the size promised
    .venv/bin/python benchmarks/timeline.py --store S             kept from an earlier run

The peer of a figure is what the product promises; no other viewer opens a profile of this size.
Needs Playwright for Python and a Chromium (TRACEMILL_CHROMIUM, else /usr/bin/chromium), which here
draws in software: frames are given as the script's work and with the pixels of a screen of
1920 × 4400. The server is a process of its own on loopback. On a shared machine wall times are
those of the hour; the least of many frames is nearest to a quiet one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from big_profile import JOB, write_profile
from playwright.sync_api import Browser, Page, sync_playwright
from tracemill_ui.app import STATIC_FOLDER

CHROMIUM_ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PORT = 8947
URL = f"http://127.0.0.1:{PORT}/"
LANES, PX, WINDOWS = 20, 1_600, 60
SCALES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
FRAMES = 100
IDLE = "() => window.tracemillTimeline?.state().idle"


def call(path: str, method: str = "GET") -> bytes:
    """Return the body of an answer of the server."""
    request = urllib.request.Request(URL + path, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def start_server(store: str) -> subprocess.Popen[bytes]:
    """Start the app over a store, wait until it answers, load the job."""
    command = [
        Path(sys.executable).parent / "tracemill",
        "ui",
        "--store",
        store,
        "--port",
        str(PORT),
        "--no-browser",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for _ in range(300):
        try:
            call("api/loaded")
            break
        except OSError:
            time.sleep(0.1)
    call(f"api/loaded/{JOB}", "POST")
    while json.loads(call("api/loaded"))["loaded"][0]["state"] == "loading":
        time.sleep(0.05)
    return server


def percentile(values: list[float], share: float) -> float:
    """Return a percentile of some values."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def lanes_of(tree: list[dict[str, Any]]) -> list[str]:
    """Return the lanes that show events or use, from top to bottom."""
    return [lane for row in tree for lane in (*row["lanes"], *lanes_of(row["children"]))]


def windows(rounds: int) -> dict[str, float]:
    """Ask for random windows of every scale, each again at once; ms."""
    began = time.perf_counter()
    meta = json.loads(call(f"api/profiles/{JOB}/timeline/meta"))
    figures = {"meta_ms": (time.perf_counter() - began) * 1e3}
    lanes, span = list(dict.fromkeys(lanes_of(meta["tree"]))), meta["span_ns"]
    chosen = random.Random(1)
    first, again = [], []
    for at in range(rounds):
        length = max(int(span * SCALES[at % len(SCALES)]), 1_000)
        t0 = chosen.randint(0, span - length)
        # Lanes that lie below each other, as on a screen.
        top = chosen.randint(0, len(lanes) - LANES)
        query = f"t0={t0}&t1={t0 + length}&px={PX}&lanes={','.join(lanes[top : top + LANES])}"
        for times in (first, again):
            began = time.perf_counter()
            call(f"api/profiles/{JOB}/timeline/window?{query}")
            times.append((time.perf_counter() - began) * 1e3)
    for name, times in (("window", first), ("window again", again)):
        figures[f"{name} median_ms"] = statistics.median(times)
        figures[f"{name} p95_ms"] = percentile(times, 0.95)
    began = time.perf_counter()
    call(f"api/profiles/{JOB}/timeline/search?q=allreduce")
    figures["search_ms"] = (time.perf_counter() - began) * 1e3
    return figures


def painted(browser: Browser, store: str) -> list[float]:
    """Open the timeline in new pages, of a server just started and again; ms to the paint."""
    times = []
    for _ in range(3):
        server = start_server(store)
        try:
            for _ in range(2):
                with browser.new_context(viewport={"width": 1600, "height": 900}) as context:
                    page = context.new_page()
                    page.goto(f"{URL}#/timeline?p={JOB}")
                    page.wait_for_function("() => window.tracemillTimeline?.state().paintedMs")
                    times.append(page.evaluate("() => window.tracemillTimeline.state().paintedMs"))
        finally:
            server.terminate()
            server.wait()
    return times


def frames(page: Page) -> dict[str, float]:
    """Open every row on a tall screen and move the view; ms of work per frame."""
    page.goto(f"{URL}#/timeline?p={JOB}")
    page.wait_for_function(IDLE)
    page.evaluate("() => void window.tracemillTimeline.openAll()")
    page.wait_for_timeout(300)
    page.wait_for_function(IDLE, timeout=120_000)
    page.keyboard.press("w")
    page.wait_for_timeout(500)
    page.wait_for_function(IDLE, timeout=120_000)
    times = page.evaluate(f"() => window.tracemillTimeline.measure({FRAMES})")
    work = [one["work"] for one in times]
    return {
        "rectangles in view": page.evaluate("() => window.tracemillTimeline.state().visible"),
        "frame least_ms": min(work),
        "frame median_ms": statistics.median(work),
        "frame p95_ms": percentile(work, 0.95),
        "frame with raster_ms": statistics.median(one["drawn"] for one in times),
    }


def wander(page: Page) -> None:
    """Zoom, move and search as someone would for a while."""
    chosen = random.Random(2)
    page.get_by_role("application").focus()
    for _ in range(120):
        page.keyboard.press(chosen.choice(["w", "w", "s", "a", "d", "n", "ArrowDown", "."]))
        page.wait_for_timeout(40)
    page.wait_for_function(IDLE, timeout=120_000)


def memory_mb(browser: Browser, page: Page) -> dict[str, float]:
    """Return the JavaScript heap, and the private memory of the renderer's process."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")
    info = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    private = []
    for process in info["processInfo"]:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
            sizes = [line.split() for line in text.splitlines() if line.startswith("Private")]
            private.append(sum(int(size[1]) for size in sizes) / 1024)
    heap = (used["usedSize"] + used.get("backingStorageSize", 0)) / 2**20
    return {"script heap MB": heap, "renderer private MB": max(private)}


def page_weight_kb() -> float:
    """Return the size of everything the page loads, packed."""
    files = [p for p in STATIC_FOLDER.rglob("*") if p.suffix in (".html", ".js", ".css", ".woff2")]
    return sum(len(gzip.compress(p.read_bytes(), 6)) for p in files) / 1e3


def report(figures: dict[str, float]) -> None:
    """Print the figures beside what is promised."""
    promised = {
        "first paint median_ms": 1_000,
        "window p95_ms": 100,
        "window again p95_ms": 20,
        "frame median_ms": 8,
        "renderer private MB": 300,
        "page weight gz kB": 250,
    }
    for name, value in figures.items():
        goal = promised.get(name)
        verdict = "" if goal is None else f"promised <= {goal}{'' if value <= goal else '  MISSED'}"
        print(f"{name:26} {value:14,.1f}   {verdict}")


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--store", help="store with the job, written if it is not there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or folder
        figures: dict[str, float] = {}
        if not (Path(store) / "jobs").exists():
            print("writing the profile …", flush=True)
            figures["events"] = write_profile(Path(store), int(options.events))
        figures["page weight gz kB"] = page_weight_kb()
        server = start_server(store)
        try:
            figures |= windows(WINDOWS)
        finally:
            server.terminate()
            server.wait()
        chromium = os.environ.get("TRACEMILL_CHROMIUM", "/usr/bin/chromium")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
            times = painted(browser, store)
            figures["first paint median_ms"] = statistics.median(times)
            figures["first paint max_ms"] = max(times)
            server = start_server(store)
            try:
                page = browser.new_page(viewport={"width": 1920, "height": 4400})
                figures |= frames(page)
                wander(page)
                figures |= memory_mb(browser, page)
            finally:
                server.terminate()
                server.wait()
            browser.close()
    report(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

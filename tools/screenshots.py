"""Take pictures of every page of the app over a store, light and dark, at several widths.

    python tools/screenshots.py --store demo-store --out artifacts [--job NAME] [--width 1280 …]

Needs Playwright for Python and a Chromium (TRACEMILL_CHROMIUM, else /usr/bin/chromium).
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright
from tracemill_analysis.store import open_store
from tracemill_ui.app import create_app

CHROMIUM_ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGES = ("profiles", "dashboard", "timeline", "compare", "report", "query", "info", "settings")
WIDTHS = (420, 1280, 1920)
HEIGHT = 900
SETTLE_MS = 500
TIMELINE_IDLE = "() => window.tracemillTimeline?.state().idle"
WIDE_EVENT = """() => {
  const timeline = window.tracemillTimeline;
  const { t0, t1 } = timeline.state().view;
  const host = document.querySelector("[role=application]");
  const scale = host.clientWidth / (t1 - t0);
  const inside = timeline.marks().filter((m) => m.exact && m.start >= t0 && m.start + m.dur <= t1);
  const gpu = inside.filter((m) => m.lane.includes(".stream."));
  const shown = (gpu.length ? gpu : inside).flatMap((m) => {
    const box = timeline.boxOf(m.lane);
    return box && box.y >= 0 && box.y + box.height < host.clientHeight ? [{ m, y: box.y }] : [];
  });
  const best = shown.sort((a, b) => b.m.dur - a.m.dur)[0];
  return best && { x: (best.m.start + best.m.dur / 2 - t0) * scale, y: best.y + 9 };
}"""


@contextmanager
def served(store: str) -> Iterator[str]:
    """Serve a store on a free loopback port; give the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(create_app(open_store(store)), log_level="warning", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join(timeout=10)


def take(
    browser: Browser, url: str, out: Path, job: str, theme: Any, width: int, compare_with: str
) -> None:
    """Take the pictures of one job in one theme and width."""
    viewport = {"width": width, "height": HEIGHT}
    with browser.new_context(color_scheme=theme, viewport=viewport) as context:
        page = context.new_page()
        for name in PAGES:
            if name != "profiles" and not job:
                continue
            other = f"&b={compare_with}" if name == "compare" else ""
            page.goto(f"{url}#/{name}?p={job}{other}")
            page.locator("h1").first.wait_for()
            page.locator(".skeleton").wait_for(state="detached")
            if name == "query":
                page.locator("[data-query=top_kernels]").click()
                page.get_by_role("status").wait_for()
            page.wait_for_timeout(SETTLE_MS)
            save(page, out / f"{job or 'empty'}-{name}-{theme}-{width}.png")
            if name == "timeline":
                select_a_launched_run(page)
                save(page, out / f"{job}-timeline-near-{theme}-{width}.png")


def save(page: Page, target: Path) -> None:
    """Save a picture of the page and say where."""
    page.screenshot(path=target, full_page=True)
    print(target)


def select_a_launched_run(page: Page) -> None:
    """Zoom into the timeline's middle step, open the first rank, select an event there."""
    page.wait_for_function(TIMELINE_IDLE)
    closed = page.locator("[role=treeitem][aria-expanded=false]", has_text="rank 0")
    if closed.count():
        closed.first.click()
    steps = page.get_by_label("Zoom to a step")
    if steps.count():
        options = steps.locator("option:not([disabled])")
        steps.select_option(options.nth(options.count() // 2).get_attribute("value"))
    page.wait_for_timeout(SETTLE_MS)
    page.wait_for_function(TIMELINE_IDLE)
    place = page.evaluate(WIDE_EVENT)
    if place:
        page.locator("[role=application]").click(position=place)
    page.wait_for_timeout(SETTLE_MS)
    page.wait_for_function(TIMELINE_IDLE)
    page.mouse.move(0, 0)


def processed_jobs(store: str) -> list[str]:
    """Return the jobs of a store that can be shown."""
    return [e.name for e in create_app(open_store(store)).state.api.jobs.all() if e.job]


def main() -> int:
    """Take the pictures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--job", action="append", help="only this job (may be repeated)")
    parser.add_argument("--width", type=int, action="append", help=f"default: {WIDTHS}")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    all_jobs = processed_jobs(options.store)
    jobs = options.job or all_jobs or [""]
    chromium = os.environ.get("TRACEMILL_CHROMIUM", "/usr/bin/chromium")
    with served(options.store) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        for job in jobs:
            for theme in ("light", "dark"):
                for width in options.width or WIDTHS:
                    other = next((name for name in all_jobs if name != job), job)
                    take(browser, url, options.out, job, theme, width, other)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

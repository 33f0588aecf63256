"""Journeys through the timeline in Chromium: drawn, moved, searched, selected, measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tracemill_analysis import intervals as iv
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout

from tests.support import profiles
from tests.support.browser import (
    DEEP_PATH,
    Watch,
    accessibility_problems,
    served,
)
from tests.support.timeline import JOB, KERNELS_PER_STEP, STEPS

pytestmark = pytest.mark.browser

SPAN_NS = 319_600_000
WHOLE = (-0.02 * SPAN_NS, 1.02 * SPAN_NS)
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def addresses(timeline_store: LocalStore) -> Iterator[dict[str, str]]:
    """The app over the store, by base path."""
    with ExitStack() as stack:
        yield {path: stack.enter_context(served(timeline_store, path)) for path in ("/", DEEP_PATH)}


@pytest.fixture
def open_page(browser: Any, addresses: dict[str, str]) -> Iterator[Open]:
    """Open the timeline; at the end the page must have done nothing it must not do."""
    watches: list[Watch] = []
    with ExitStack() as stack:

        def open_it(
            query: str = "", *, url: str = "", base_path: str = "/", **context: Any
        ) -> Page:
            shown = {
                "viewport": {"width": 1280, "height": 900},
                "reduced_motion": "reduce",
                **context,
            }
            page = stack.enter_context(browser.new_context(**shown)).new_page()
            page.set_default_timeout(15_000)
            watches.append(Watch(page, url or addresses[base_path]))
            job = "" if "p=" in query else f"p={JOB}&"
            page.goto(f"{url or addresses[base_path]}#/timeline?{job}{query}")
            settle(page)
            return page  # type: ignore[no-any-return]

        yield open_it
    assert [problem for watch in watches for problem in watch.problems] == []


def settle(page: Page) -> dict[str, Any]:
    """Wait until nothing is asked for and everything is drawn; return the engine's state."""
    page.wait_for_function("() => window.tracemillTimeline?.state().idle")
    return state(page)


def state(page: Page) -> dict[str, Any]:
    return dict(page.evaluate("() => window.tracemillTimeline.state()"))


def selected(page: Page, start: int) -> dict[str, Any]:
    """Wait until the event that starts then is selected; return its place."""
    page.wait_for_function(f"() => window.tracemillTimeline.state().selected?.start === {start}")
    return dict(settle(page)["selected"])


def view(page: Page) -> tuple[float, float]:
    now = settle(page)["view"]
    return now["t0"], now["t1"]


def lanes(page: Page) -> Any:
    return page.get_by_role("application")


def place(page: Page, lane: str, time: float) -> dict[str, float]:
    """Where a time of a lane lies within the lanes, in pixels."""
    box = page.evaluate("(lane) => window.tracemillTimeline.boxOf(lane)", lane)
    assert box, f"{lane} is not shown"
    t0, t1 = view(page)
    width = lanes(page).bounding_box()["width"]
    return {"x": (time - t0) / (t1 - t0) * width, "y": box["y"] + 9}


def colour(page: Page, at: dict[str, float]) -> list[int]:
    return list(
        page.evaluate(
            "({x, y}) => { const from = document.querySelector('[role=application] canvas');"
            " const copy = document.createElement('canvas'); copy.width = copy.height = 1;"
            " const pen = copy.getContext('2d');"
            " pen.drawImage(from, -Math.round(x), -Math.round(y));"
            " return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3) }",
            at,
        )
    )


def sql(store: LocalStore, text: str) -> list[tuple[Any, ...]]:
    return run_query(connect(store, JOB), text)[1]


@pytest.mark.parametrize("base_path", ["/", DEEP_PATH])
def test_journey(open_page: Open, timeline_store: LocalStore, base_path: str) -> None:
    """Whole profile, a step, an event, its launch, a range, back through the address."""
    page = open_page(base_path=base_path)
    assert view(page) == pytest.approx(WHOLE)
    for rank in (0, 1):
        expect(page.get_by_role("treeitem", name=f"rank {rank} · pid 42")).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type("step_4")
    page.keyboard.press("Enter")
    t0, t1 = view(page)
    step = (160_000_000, 199_600_000)
    assert t0 < step[0] < step[1] < t1
    assert t1 - t0 == pytest.approx((step[1] - step[0]) / 0.92)
    expect(page.get_by_label("Zoom to a step")).to_have_value("4")

    query = (
        "SELECT start_ns, dur_ns, launch_start_ns, launch_dur_ns FROM kernels "
        "WHERE process_id = 0 AND correlation = 4025"
    )
    [(start, dur, launch_start, launch_dur)] = sql(timeline_store, query)
    page.evaluate("() => document.activeElement.blur()")
    lanes(page).click(position=place(page, "0.stream.0.20", start + dur / 2))
    details = page.get_by_role("region", name="Details")
    expect(details.locator("strong")).to_have_text("ncclDevKernel_AllReduce_Sum_f32")
    expect(details.locator("[data-field=correlation]")).to_contain_text("4025")
    selected(page, start)
    assert state(page)["arrows"] == 1

    details.get_by_role("tab", name="Connections (4)").click()
    rows = details.get_by_role("listitem")
    expect(rows.nth(0)).to_contain_text("launched by")
    expect(rows.nth(1)).to_contain_text("ProfilerStep#4")
    rows.nth(0).get_by_role("button").click()
    expect(details.get_by_role("listitem").filter(has_text="runs on the GPU")).to_have_count(1)
    assert selected(page, launch_start)["dur"] == launch_dur

    page.keyboard.press("m")
    facts = details.locator("[data-range]")
    expect(facts).to_contain_text("4.00 µs")
    expect(page).to_have_url(re.compile(f"r0={launch_start}&r1={launch_start + launch_dur}"))

    address = page.url
    page.goto("about:blank")
    page.goto(address)
    restored = settle(page)
    assert (restored["view"]["t0"], restored["view"]["t1"]) == pytest.approx((t0, t1), abs=1)
    expect(page.locator("[data-range]")).to_contain_text("4.00 µs")
    selected(page, launch_start)


def test_lanes_are_drawn_where_events_are(open_page: Open) -> None:
    page = open_page("t0=0&t1=40000000")
    step = place(page, "0.annotation.7.0", 20_000_000)
    between = place(page, "0.annotation.7.0", 39_750_000)
    forward = place(page, "0.annotation.7.1", 5_000_000)
    gap = place(page, "0.annotation.7.1", 15_600_000)
    ground = colour(page, between)
    assert colour(page, step) != ground
    assert colour(page, forward) != ground
    assert colour(page, gap) == ground


def test_dense_lanes_become_strips_and_sparse_ones_rectangles(open_page: Open) -> None:
    page = open_page(viewport={"width": 1280, "height": 1200})
    assert settle(page)["visible"] > 8_000
    assert state(page)["strips"] >= 6
    page = open_page(viewport={"width": 520, "height": 900})
    marks = page.evaluate("() => window.tracemillTimeline.marks()")
    assert any(not mark["exact"] for mark in marks)
    page = open_page("t0=0&t1=2000000")
    assert state(page)["strips"] == 0
    marks = page.evaluate("() => window.tracemillTimeline.marks()")
    assert marks
    assert all(mark["exact"] for mark in marks)


def test_hovering_names_the_event(open_page: Open) -> None:
    page = open_page("t0=0&t1=40000000")
    lanes(page).hover(position=place(page, "0.annotation.7.0", 20_000_000))
    tip = page.locator(".tip")
    expect(tip).to_contain_text("ProfilerStep#0")
    expect(tip).to_contain_text("39.5 ms")
    lanes(page).hover(position=place(page, "0.device.0", 20_000_000))
    expect(tip).to_contain_text("busy")


def test_range_statistics_are_those_of_sql(open_page: Open, timeline_store: LocalStore) -> None:
    page = open_page("t0=40000000&t1=80000000&rows=%22rank+0%22+stream+7")
    box = lanes(page).bounding_box()
    y = box["y"] + place(page, "0.stream.0.7", 0)["y"]
    page.mouse.move(box["x"] + 200, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, y, steps=4)
    page.mouse.up()
    facts = page.locator("[data-range]")
    expect(facts).to_contain_text("1 lane")
    low, high = (settle(page)["range"][end] for end in ("t0", "t1"))
    scale = 40_000_000 / box["width"]
    assert (high - low) == pytest.approx(200 * scale, abs=scale)
    rows = sql(
        timeline_store,
        f"SELECT name, greatest(start_ns, {low}), least(start_ns + dur_ns, {high}) FROM "
        "(SELECT process_id, stream, name, start_ns, dur_ns FROM kernels UNION ALL "
        "SELECT process_id, stream, name, start_ns, dur_ns FROM memory_ops) "
        f"WHERE process_id = 0 AND stream = 7 AND start_ns < {high} AND start_ns + dur_ns > {low}",
    )
    spans = np.array([row[1:] for row in rows], np.int64)
    busy = iv.length(iv.union(spans[:, 0], spans[:, 1]))
    total = int((spans[:, 1] - spans[:, 0]).sum())
    expect(facts).to_contain_text(f"{len(rows)} events in 1 lane")
    expect(facts).to_contain_text(f"({100 * busy / (high - low):.3g} %)")
    shown = page.evaluate("() => window.tracemillTimeline.state().statistics")
    assert (shown["count"], shown["busy_ns"], shown["total_ns"]) == (len(rows), busy, total)
    gemm = [row for row in rows if row[0] == "gemm_128x64"]
    table_row = page.get_by_role("region", name="Range by name").get_by_role("row")
    expect(table_row.filter(has_text="gemm_128x64")).to_contain_text(str(len(gemm)))
    page.keyboard.press("Escape")
    assert settle(page)["range"] is None


def test_search_visits_events_of_the_whole_profile(open_page: Open) -> None:
    page = open_page("t0=0&t1=1000000")
    box = page.get_by_label("Search events of the whole profile by name")
    box.fill("allreduce")
    answer = page.locator(".answer")
    expect(answer).to_contain_text(f"{2 * STEPS * (KERNELS_PER_STEP // 25)} events of 1 name")
    box.press("Enter")
    first = selected(page, 5_060_000)
    t0, t1 = view(page)
    assert t0 < first["start"] < t1
    box.press("Enter")
    selected(page, 5_110_000)
    box.press("Shift+Enter")
    selected(page, 5_060_000)
    box.press("Escape")
    expect(answer).to_have_count(0)


def test_the_view_is_saved_for_perfetto(open_page: Open) -> None:
    page = open_page("t0=41000000&t1=43000000")
    with page.expect_download() as download:
        page.get_by_role("button", name="Perfetto").click()
    assert download.value.suggested_filename == f"{JOB}.pftrace"
    assert 1_000 < Path(download.value.path()).stat().st_size < 100_000


def test_everything_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.getAttribute('role')") == "application":
            break
    else:
        raise AssertionError("the lanes cannot be reached by Tab")
    whole = view(page)
    for key, change in (("w", 0.6), ("s", 1.0), ("w", 0.6)):
        page.keyboard.press(key)
        t0, t1 = view(page)
        assert t1 - t0 == pytest.approx((whole[1] - whole[0]) * change)
    middle = view(page)
    page.keyboard.press("d")
    right = view(page)
    assert right[0] > middle[0]
    page.keyboard.press("ArrowLeft")
    assert view(page) == pytest.approx(middle)
    page.keyboard.press("0")
    assert view(page) == pytest.approx(WHOLE)

    live = page.locator("[data-live]")
    page.keyboard.press("ArrowDown")
    expect(live).to_contain_text("ProfilerStep#0")
    page.keyboard.press(".")
    expect(live).to_contain_text("ProfilerStep#1, 39.5 ms")
    page.keyboard.press("Enter")
    expect(live).to_contain_text("Selected ProfilerStep#1")
    page.keyboard.press("f")
    t0, t1 = view(page)
    assert t1 - t0 == pytest.approx(39_500_000 / 0.6)
    page.keyboard.press("f")
    t0, t1 = view(page)
    assert t1 - t0 == pytest.approx(39_500_000 / 0.96)
    page.keyboard.press("]")
    expect(live).to_contain_text("Selected Memcpy HtoD")
    page.keyboard.press("[")
    expect(live).to_contain_text("Selected cudaMemcpyAsync")
    page.keyboard.press("]")
    expect(live).to_contain_text("Selected Memcpy HtoD")
    page.keyboard.press("n")
    expect(page.get_by_label("Zoom to a step")).to_have_value("2")
    page.keyboard.press("p")
    expect(page.get_by_label("Zoom to a step")).to_have_value("1")
    page.keyboard.press("Escape")
    assert settle(page)["selected"] is None

    page.keyboard.press("?")
    help_ = page.get_by_role("dialog")
    expect(help_).to_contain_text("follow the arrow")
    page.keyboard.press("Escape")
    expect(help_).to_have_count(0)


def test_letters_can_be_switched_off(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("button", name="Keys and help").click()
    page.get_by_label("Single letters act as keys").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("w")
    assert view(page) == pytest.approx(WHOLE)


def test_the_tree_opens_closes_pins_and_hides(open_page: Open) -> None:
    page = open_page()
    items = page.get_by_role("treeitem")
    shown = items.count()
    rank = page.get_by_role("treeitem", name="rank 0 · pid 42")
    rank.click()
    expect(rank).to_have_attribute("aria-expanded", "false")
    expect(items).to_have_count(shown - 8)
    # A closed rank still shows its steps.
    box = page.evaluate("() => window.tracemillTimeline.boxOf('0.annotation.7.0')")
    assert box["height"] == 17
    rank.press("ArrowRight")
    expect(rank).to_have_attribute("aria-expanded", "true")
    rank.press("ArrowDown")
    expect(page.get_by_role("treeitem", name="thread 7").first).to_be_focused()
    rank.press("x")
    expect(page.locator(".pinned .row")).to_have_text("GPUs, mean › rank 0 · pid 42")
    expect(page).to_have_url(re.compile("pin=p0"))
    rank.press("h")
    expect(rank).to_have_count(0)
    page.get_by_role("button", name="1 hidden row: show").click()
    expect(rank).to_be_visible()
    page.get_by_placeholder("Filter rows").fill("stream 20")
    expect(page.get_by_role("treeitem", name="stream 20")).to_have_count(2)
    expect(page.get_by_role("treeitem", name="stream 7")).to_have_count(0)


def test_wheel_and_overview_move_the_view(open_page: Open) -> None:
    page = open_page()
    at = place(page, "0.annotation.7.0", 100_000_000)
    lanes(page).hover(position=at)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function("() => window.tracemillTimeline.state().view.t0 > 0")
    t0, t1 = view(page)
    assert t1 - t0 < 0.7 * SPAN_NS
    # What is under the pointer stays there.
    assert place(page, "0.annotation.7.0", 100_000_000)["x"] == pytest.approx(at["x"], abs=1)
    before = view(page)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Shift")
    page.wait_for_function(f"() => window.tracemillTimeline.state().view.t0 > {before[0]} + 1")
    overview = page.get_by_label("Overview of the whole profile")
    overview.click(position={"x": overview.bounding_box()["width"] * 0.9, "y": 15})
    t0, t1 = view(page)
    assert t1 == pytest.approx(WHOLE[1], rel=1e-6)


def test_a_far_view_is_fetched_in_few_small_calls(open_page: Open) -> None:
    page = open_page()
    calls = settle(page)["calls"]
    assert calls <= 4
    for _ in range(3):
        page.keyboard.press("d")
    assert settle(page)["calls"] - calls <= 3 * calls


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible(open_page: Open, theme: str) -> None:
    page = open_page("t0=0&t1=40000000", color_scheme=theme)
    lanes(page).click(position=place(page, "0.annotation.7.0", 20_000_000))
    expect(page.get_by_role("region", name="Details").locator("strong")).to_be_visible()
    assert accessibility_problems(page) == []
    page.keyboard.press("m")
    expect(page.locator("[data-range]")).to_be_visible()
    assert accessibility_problems(page) == []
    page.get_by_role("tab", name="Events in view").click()
    expect(page.get_by_role("columnheader", name="Lane")).to_be_visible()
    page.get_by_label("Search events").fill("gemm")
    expect(page.locator(".answer")).to_be_visible()
    assert accessibility_problems(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys and help").click()
    assert accessibility_problems(page) == []


@pytest.mark.parametrize("width", [420, 1920])
def test_the_page_is_not_wider_than_the_window(open_page: Open, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_from_traces_are_text(open_page: Open) -> None:
    page = open_page()
    box = page.get_by_label("Search events of the whole profile by name")
    box.fill("<img src=x")
    expect(page.locator(".names")).to_contain_text("<img src=x onerror=alert(1)>")
    box.press("Enter")
    expect(page.locator(".details strong")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_profile_without_events_says_why(open_page: Open, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    profiles.write_gpu_job(store, simulated=True, completeness="partial")
    store.delete_prefix("tables/annotations/")
    with served(store) as url:
        page = open_page("p=gpu-job", url=url)
        expect(page.locator("[data-note]")).to_contain_text("No event of this profile is stored")
        expect(page.get_by_text("partial data")).to_be_visible()
        expect(page.get_by_text("simulated data")).to_be_visible()


def test_a_cpu_profile_says_that_no_gpu_ran(open_page: Open, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    profiles.write_cpu_job(store)
    with served(store) as url:
        page = open_page("p=cpu-job", url=url)
        expect(page.locator("[data-note]").first).to_contain_text("No GPU event was recorded")
        expect(page.get_by_role("treeitem", name="CPU, mean").first).to_be_visible()


def test_a_file_that_cannot_be_read_is_named(
    browser: Any, tmp_path: Path, timeline_store: Any
) -> None:
    store = LocalStore(tmp_path)
    for info in timeline_store.list_objects(""):
        if "/operators/" not in info.key:
            store.write_bytes(info.key, timeline_store.read_bytes(info.key))
    key = layout.table_key("operators", JOB, layout.process_part(0))
    store.write_bytes(key, timeline_store.read_bytes(key)[:-100] + b"PAR1")
    with served(store) as url, browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{url}#/timeline?p={JOB}&t0=0&t1=1000000")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("p00000.parquet cannot be read")
        expect(alert.get_by_role("button")).to_be_visible()


def test_a_missing_profile_says_so(browser: Any, addresses: dict[str, str]) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{addresses['/']}#/timeline?p=gone")
        expect(page.get_by_role("alert")).to_contain_text("There is no profile 'gone'")

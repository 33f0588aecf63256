"""Journeys through the app in Chromium, directly and below a deep base path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tracemill_analysis.store import LocalStore

from tests.support import profiles
from tests.support.browser import (
    DEEP_PATH,
    Watch,
    accessibility_problems,
    served,
)

pytestmark = pytest.mark.browser

NASTY = "<img src=x onerror=alert(1)>" + "n" * 4_972
Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Any, store: LocalStore) -> Iterator[Open]:
    """Open a page of the app; at the end it must have done nothing it must not do."""
    watches: list[Watch] = []
    with ExitStack() as stack:

        def open_it(
            address: str = "#/profiles",
            *,
            of: LocalStore | None = None,
            base_path: str = "/",
            watched: bool = True,
            **context: Any,
        ) -> Page:
            url = stack.enter_context(served(of or store, base_path))
            shown = {"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **context}
            page = stack.enter_context(browser.new_context(**shown)).new_page()
            page.set_default_timeout(10_000)
            if watched:
                watches.append(Watch(page, url))
            page.goto(url + address)
            return page  # type: ignore[no-any-return]

        yield open_it
    assert [problem for watch in watches for problem in watch.problems] == []


def panel(page: Page, panel_id: str) -> Any:
    return page.locator(f"[data-panel={panel_id}]")


@pytest.mark.parametrize("base_path", ["/", DEEP_PATH])
def test_journey(open_page: Open, base_path: str) -> None:
    """List, search, load, dashboard, filter, export, report, info, unload."""
    page = open_page(base_path=base_path)
    expect(page.locator("[data-job]")).to_have_count(5)

    page.get_by_label("Search").fill("gpu")
    expect(page.locator("[data-job]")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text("1 of 5 jobs")

    page.get_by_role("button", name="Load gpu-job").click()
    loaded = page.locator("[data-loaded=gpu-job]")
    expect(loaded.get_by_text("loaded", exact=True)).to_be_visible()
    expect(loaded.get_by_role("radio")).to_be_checked()
    loaded.get_by_role("link", name="Dashboard").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("gpu-job")
    expect(page.get_by_text("37.5 % of GPU time was idle")).to_be_visible()
    expect(panel(page, "gpu_active").locator("svg.chart")).to_contain_text("62.5 %")
    expect(panel(page, "annotation_histogram")).to_contain_text("160")
    expect(page.locator("[data-panel]")).to_have_count(22)

    page.get_by_text("Nodes: all").click()
    page.get_by_role("checkbox", name="algo-2").check()
    expect(panel(page, "gpu_active").locator("dl")).to_contain_text("GPUs2")
    assert "node=algo-2" in page.url
    page.keyboard.press("Escape")

    kernels = panel(page, "kernel_time_all")
    kernels.get_by_label("Top k").fill("2")
    kernels.get_by_label("Top k").press("Enter")
    expect(kernels.locator("svg.chart")).to_contain_text("18 other kernels")

    kernels.get_by_role("button", name="as a table").click()
    expect(kernels.get_by_role("row")).to_have_count(4)
    kernels.get_by_label("Save Time by all kernels").click()
    with page.expect_download() as download:
        kernels.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "gpu-job-kernel_time_all.csv"
    csv = Path(download.value.path()).read_text().splitlines()
    assert csv[0] == "Name,Time (ns),Share (share)"
    assert csv[2].startswith("ncclDevKernel_AllReduce_Sum_bf16_RING_LL,3000000000,0.294")

    page.get_by_role("link", name="Report", exact=True).click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading")).to_have_text("Report of the GPU job")
    page.get_by_role("link", name="Info", exact=True).click()
    expect(page.get_by_role("region", name="Drops: table")).to_contain_text("ring_full")

    page.get_by_role("link", name="Profiles", exact=True).click()
    page.get_by_role("button", name="Unload gpu-job").click()
    expect(page.locator("[data-loaded]")).to_have_count(0)
    expect(page.get_by_role("button", name="Load gpu-job")).to_be_visible()


def test_a_deep_address_without_its_slash_still_works(open_page: Open) -> None:
    # Not watched: until the page has corrected its address, it looks for its files beside it.
    page = open_page("", base_path=DEEP_PATH, watched=False)
    address = page.url.split("#")[0].rstrip("/")
    page.goto("about:blank")
    page.goto(f"{address}#/profiles?search=cpu")
    expect(page.locator("[data-job]")).to_have_count(1)
    assert page.url.endswith("/proxy/8899/#/profiles?search=cpu")


def test_a_link_opens_the_same_view(open_page: Open) -> None:
    page = open_page("#/dashboard?p=gpu-job&rank=3&k=1&series=Forward_7")
    expect(panel(page, "kernel_time_all").locator("svg.chart")).to_contain_text("19 other kernels")
    expect(panel(page, "gpu_active").locator("dl")).to_contain_text("GPUs1")
    expect(panel(page, "annotation_histogram").locator("dl")).to_contain_text("Ranges1")


def test_two_profiles_are_loaded_and_switched(open_page: Open) -> None:
    page = open_page()
    for job in ("gpu-job", "cpu-job"):
        page.get_by_role("button", name=f"Load {job}").click()
        expect(page.locator(f"[data-loaded={job}]").get_by_role("link")).to_be_visible()
    page.locator("[data-loaded=cpu-job]").get_by_role("radio").check()
    page.get_by_role("link", name="Dashboard", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("cpu-job")
    page.get_by_label("Show another loaded profile").select_option("gpu-job")
    expect(page.get_by_role("heading", level=1)).to_have_text("gpu-job")


def test_a_cpu_profile_says_once_that_no_gpu_ran(open_page: Open) -> None:
    page = open_page("#/dashboard?p=cpu-job")
    expect(page.get_by_text("No GPU activity was recorded")).to_have_count(1)
    expect(page.locator("[data-panel]").first).to_have_attribute("data-panel", "cpu_active")
    expect(panel(page, "step_histogram").locator("dl")).to_contain_text("Slowest: step 23")


def test_an_empty_store_says_how_to_make_a_profile(open_page: Open, tmp_path: Path) -> None:
    page = open_page(of=LocalStore(tmp_path / "no store"))
    expect(page.get_by_role("heading", name="No profile yet")).to_be_visible()
    expect(page.get_by_text("tracemill record --store '")).to_contain_text("-- python train.py")
    expect(page.get_by_text("tracemill import trace.json --store")).to_be_visible()
    assert accessibility_problems(page) == []


def test_broken_and_recorded_jobs_say_what_to_do(open_page: Open) -> None:
    page = open_page()
    for job in ("broken-job", "newer-job", "raw-job"):
        row = page.locator(f"[data-job={job}]")
        expect(row).to_be_visible()
        expect(row.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("The manifest cannot be read")).to_be_visible()
    expect(page.get_by_text("Written by a newer Tracemill")).to_be_visible()
    expect(
        page.get_by_text(re.compile("tracemill process --store .* --job raw-job"))
    ).to_be_visible()


def test_a_profile_that_fails_to_load_says_why(open_page: Open, store: LocalStore) -> None:
    key = "tables/kernel_summary/job_name=gpu-job/all.parquet"
    store.write_bytes(key, b"PAR1 nothing PAR1")
    page = open_page()
    page.get_by_role("button", name="Load gpu-job").click()
    failed = page.locator("[data-loaded=gpu-job]")
    expect(failed.get_by_text("could not be read")).to_be_visible()
    expect(failed.get_by_role("button", name="Try again")).to_be_visible()


def test_a_link_to_a_missing_profile_says_so(open_page: Open) -> None:
    page = open_page("#/dashboard?p=gone", watched=False)
    expect(page.get_by_role("alert")).to_contain_text("There is no profile 'gone'")
    expect(page.get_by_role("alert").get_by_role("button")).to_be_visible()


def test_names_from_traces_are_text(open_page: Open, store: LocalStore) -> None:
    profiles.write_cpu_job(
        store, "nasty", series={NASTY: 5, "step": 200}, verdict="<script>alert(2)</script>"
    )
    page = open_page("#/dashboard?p=nasty&series=" + "step")
    expect(page.get_by_text("<script>alert(2)</script>")).to_be_visible()
    table = panel(page, "annotation_table")
    expect(table).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_label("Annotation of the histogram").fill(NASTY)
    page.get_by_label("Annotation of the histogram").press("Enter")
    expect(panel(page, "annotation_histogram").locator("dl")).to_contain_text("Median5.00 ms")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_load_and_read_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page("#/profiles?search=gpu")
    expect(page.locator("[data-job]")).to_have_count(1)

    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            label = page.evaluate(
                "document.activeElement.ariaLabel || document.activeElement.textContent"
            )
            if name in " ".join(label.split()) and page.locator(":focus").count():
                return
        raise AssertionError(f"no way to {name} by Tab")

    tab_to("Load gpu-job")
    page.keyboard.press("Enter")
    expect(page.locator("[data-loaded=gpu-job]").get_by_role("link")).to_be_visible()
    page.locator("h1").click()
    tab_to("Dashboard of gpu-job")
    page.keyboard.press("Enter")
    expect(panel(page, "gpu_active")).to_be_visible()
    tab_to("GPU active time: Active 62.5 %")
    page.keyboard.press("ArrowRight")
    live = panel(page, "gpu_active").locator("[aria-live]")
    expect(live).to_have_text("Active: Time 20.0 s, Share 62.5 %")
    page.keyboard.press("ArrowRight")
    expect(live).to_have_text("Idle: Time 12.0 s, Share 37.5 %")


def test_hovering_shows_values(open_page: Open) -> None:
    page = open_page("#/dashboard?p=gpu-job")
    chart = panel(page, "step_series").locator("svg.chart")
    chart.hover(position={"x": 300, "y": 100})
    tip = panel(page, "step_series").locator(".tip")
    expect(tip).to_contain_text("Step ")
    expect(tip).to_contain_text("rank 3")


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_charts_are_saved_as_pictures(open_page: Open, kind: str) -> None:
    page = open_page("#/dashboard?p=gpu-job")
    shown = panel(page, "time_breakdown")
    shown.get_by_label("Save Time breakdown").click()
    with page.expect_download() as download:
        shown.get_by_role("button", name=kind).click()
    content = Path(download.value.path()).read_bytes()
    if kind == "PNG":
        assert content.startswith(b"\x89PNG")
    else:
        text = content.decode()
        assert "Exposed communication" in text
        assert "var(--" not in text
        assert "light-dark" not in text
    assert len(content) > 2_000


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["profiles", "dashboard", "report", "query", "info", "settings"])
def test_every_page_is_accessible(open_page: Open, theme: str, name: str) -> None:
    page = open_page(f"#/{name}?p=gpu-job", color_scheme=theme)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    if name == "dashboard":
        expect(panel(page, "annotation_histogram")).to_be_visible()
        panel(page, "gpu_active").get_by_role("button", name="as a table").click()
    assert accessibility_problems(page) == []


def test_the_theme_follows_the_system_until_it_is_chosen(open_page: Open) -> None:
    page = open_page(color_scheme="dark")

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    dark = ground()
    page.get_by_role("button", name="Change to light colours").click()
    light = ground()
    assert light != dark
    page.reload()
    expect(page.get_by_role("button", name="Change to dark colours")).to_be_visible()
    assert ground() == light
    page.get_by_role("button", name="Change to dark colours").click()
    page.emulate_media(color_scheme="light")
    expect(page.get_by_role("button", name="Change to dark colours")).to_be_visible()


@pytest.mark.parametrize("name", ["profiles", "dashboard", "report", "query", "info", "settings"])
@pytest.mark.parametrize("width", [420, 1920])
def test_no_page_is_wider_than_the_window(open_page: Open, name: str, width: int) -> None:
    page = open_page(f"#/{name}?p=gpu-job", viewport={"width": width, "height": 900})
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_many_jobs_are_shown_page_by_page(open_page: Open, store: LocalStore) -> None:
    for number in range(120):
        profiles.write_manifest(store, f"many-{number:03d}", profiles.job_row(steps=number))
    page = open_page("#/profiles?search=many&sort=steps&order=desc")
    expect(page.locator("[data-job]")).to_have_count(50)
    expect(page.locator("[data-job]").first).to_contain_text("many-119")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-job]").first).to_contain_text("many-069")
    page.get_by_role("button", name="Steps").click()
    expect(page.locator("[data-job]").first).to_contain_text("many-000")
    expect(page.get_by_role("columnheader", name="Steps")).to_have_attribute(
        "aria-sort", "ascending"
    )


def test_motion_is_reduced_on_request(open_page: Open) -> None:
    page = open_page(reduced_motion="reduce")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    rules = page.evaluate(
        "[...document.styleSheets].some(s => [...s.cssRules].some(r => "
        "r.media && r.media.mediaText.includes('prefers-reduced-motion')))"
    )
    assert rules

"""The Query, Settings and Compare pages in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import DEEP_PATH, accessibility_problems
from tests.ui_app.test_browser import Open, open_page

pytestmark = pytest.mark.browser
__all__ = ["open_page"]


@pytest.mark.parametrize("base_path", ["/", DEEP_PATH])
def test_asking_by_keyboard_table_chart_and_csv(open_page: Open, base_path: str) -> None:
    page = open_page("#/query?p=gpu-job", base_path=base_path)
    editor = page.get_by_label("SQL over profile gpu-job")
    editor.fill("SELECT series, total_ns FROM annotation_summary WHERE rank = 0 ORDER BY 2 DESC")
    editor.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer.get_by_role("status")).to_have_text("3 rows")
    expect(answer.get_by_role("cell").first).to_have_text("step")
    assert "annotation_summary" in page.url

    answer.get_by_role("button", name="Chart").press("Enter")
    expect(answer.locator("svg.chart")).to_contain_text("Backward")
    with page.expect_download() as download:
        answer.get_by_role("button", name="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "series,total_ns"
    assert len(lines) == 4


def test_a_question_a_table_and_an_error(open_page: Open) -> None:
    page = open_page("#/query?p=gpu-job")
    page.locator("[data-query=top_kernels]").click()
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("ncclDevKernel_AllReduce_Sum_bf16_RING_LL")

    page.get_by_text("step_summary", exact=True).click()
    page.get_by_role("button", name="Show 100 rows").locator("visible=true").click()
    expect(answer.get_by_role("status")).to_have_text("100 rows")


def test_an_error_is_text_and_says_what_to_do(open_page: Open) -> None:
    page = open_page("#/query?p=gpu-job", watched=False)  # the refusal is logged by the browser
    page.get_by_label("SQL over profile gpu-job").fill('SELECT "<img src=x>" FROM jobs')
    page.get_by_role("button", name="Run", exact=True).click()
    error = page.get_by_role("alert")
    expect(error).to_contain_text('"<img src=x>" not found')
    expect(error).to_contain_text("tables are listed beside it")
    expect(page.locator("img")).to_have_count(0)


def test_settings_hold(open_page: Open) -> None:
    page = open_page("#/settings")
    page.get_by_role("radio", name="Dark").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_label("Single-key shortcuts").uncheck()
    page.get_by_label("Hours without use").select_option(label="4 hours")
    expect(page.get_by_role("status")).to_have_text("The app ends after 4 hours without use.")
    page.reload()
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    expect(page.get_by_label("Single-key shortcuts")).not_to_be_checked()
    expect(page.get_by_label("Hours without use")).to_have_value("4")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#/query?p=gpu-job", "#/settings"])
def test_no_accessibility_problem(open_page: Open, address: str, scheme: str) -> None:
    page = open_page(address, color_scheme=scheme)
    if "query" in address:
        page.locator("[data-query=top_kernels]").click()
        expect(page.get_by_role("region", name="Answer", exact=True)).to_be_visible()
    else:
        expect(page.get_by_label("Hours without use")).to_be_visible()
    assert accessibility_problems(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_comparing_two_profiles(open_page: Open, scheme: str) -> None:
    page = open_page("#/compare?p=gpu-job", color_scheme=scheme)
    page.get_by_label("Profile B").select_option("cpu-job")
    summary = page.get_by_role("region", name="Summary")
    expect(summary).to_contain_text("no GPU events")
    expect(page.locator("[data-panel=compare_steps]")).to_be_visible()
    assert "b=cpu-job" in page.url
    assert accessibility_problems(page) == []
    page.get_by_role("link", name="Swap").click()
    expect(page.get_by_label("Profile A")).to_have_value("cpu-job")
    expect(page.get_by_label("Profile B")).to_have_value("gpu-job")

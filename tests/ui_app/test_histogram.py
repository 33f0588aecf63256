"""Histograms: nothing is lost, edges are round, and any annotation can have one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tracemill_ui.histogram import MAX_BINS, histogram, quantile

from tests.support.profiles import MS, STEPS
from tests.ui_app.conftest import load

values = st.lists(st.integers(0, 10**15), min_size=1, max_size=300).map(sorted)


@given(values)
def test_every_value_is_in_the_bin_that_holds_it(ordered: list[int]) -> None:
    found = histogram(ordered)
    edges, counts = found["edges"], found["counts"]
    assert len(edges) == len(counts) + 1 <= MAX_BINS + 1
    assert sum(counts) == len(ordered)
    for at, count in enumerate(counts):
        assert count == sum(edges[at] <= value < edges[at + 1] for value in ordered)


@given(values)
def test_bins_have_one_round_width(ordered: list[int]) -> None:
    edges = histogram(ordered)["edges"]
    widths = {after - before for before, after in zip(edges, edges[1:], strict=False)}
    (width,) = widths
    assert str(width).rstrip("0") in ("1", "2", "5")
    assert edges[0] % width == 0


@given(values, st.sampled_from([0.25, 0.5, 0.75, 0.95]))
def test_a_quantile_is_an_observed_value_with_its_share_below(
    ordered: list[int], share: float
) -> None:
    value = quantile(ordered, share)
    assert value in ordered
    assert sum(one <= value for one in ordered) >= share * len(ordered)
    assert sum(one < value for one in ordered) < share * len(ordered)


def ask(client: TestClient, series: str, query: str = "") -> dict[str, Any]:
    answer = client.get(
        "/api/profiles/gpu-job/histogram",
        params={"series": series} | dict(part.split("=") for part in query.split("&") if part),
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture(autouse=True)
def _loaded(client: TestClient) -> None:
    load(client, "gpu-job")


def test_a_series_over_all_ranks(client: TestClient) -> None:
    panel = ask(client, "Forward")
    figures = {stat["label"]: stat["value"] for stat in panel["stats"]}
    assert figures == {
        "Ranges": 4 * STEPS,
        "Mean": 60 * MS,
        "Median": 60 * MS,
        "95 %": 60 * MS,
        "Longest": 60 * MS,
    }
    assert sum(panel["counts"]) == 160


def test_one_range_by_its_full_name(client: TestClient) -> None:
    assert sum(ask(client, "Forward_7")["counts"]) == 4


@pytest.mark.parametrize(
    ("query", "ranges"),
    [("rank=2", 40), ("node=algo-1", 80), ("steps=0-4", 20), ("rank=2&steps=0-4", 5)],
)
def test_filters(client: TestClient, query: str, ranges: int) -> None:
    assert sum(ask(client, "Backward", query)["counts"]) == ranges


def test_an_unknown_name_says_so(client: TestClient) -> None:
    assert "No range of this name" in ask(client, "<b>nothing</b>")["empty"]
    assert client.get("/api/profiles/gpu-job/histogram").status_code == 400

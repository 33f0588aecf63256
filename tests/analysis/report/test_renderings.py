"""HTML, text and JSON of whole reports."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tracemill_analysis.report import Report, render
from tracemill_analysis.report.names import clean, shorten
from tracemill_schema.errors import UsageError

from tests.support.aggregates import job_row, job_with
from tests.support.sample_reports import LONG, SCRIPT, cpu_report, gpu_report, report_of

VOID = {"meta", "br", "hr", "img", "input", "link"}


@pytest.fixture(scope="module", params=["cpu", "gpu"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    make = cpu_report if request.param == "cpu" else gpu_report
    return make(tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return gpu_report(tmp_path_factory.mktemp("gpu"))


class _Page(HTMLParser):
    """Collects tags and text and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_html_needs_nothing_else(report: Report) -> None:
    page = _Page(render(report, "html"))
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "img", "object", "form"}
    for _, attributes in page.tags:
        assert not {"src", "href", "onclick", "onload"} & set(attributes)
    assert "http" not in render(report, "html").replace("http-equiv", "")
    assert "@import" not in render(report, "html")
    assert "url(" not in render(report, "html")


def test_every_rendering_is_the_same_every_time(report: Report) -> None:
    for fmt in ("html", "json", "txt"):
        assert render(report, fmt) == render(report, fmt)


def test_names_are_data(gpu: Report) -> None:
    html = render(gpu, "html")
    assert "<script" not in html
    assert "rank<b>" not in html
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in html
    assert SCRIPT in "".join(_Page(html).words)


def test_a_long_name_is_cut_in_the_middle_and_kept_in_the_title(gpu: Report) -> None:
    page = _Page(render(gpu, "html"))
    assert LONG in [attributes.get("title") for _, attributes in page.tags]
    assert LONG not in page.words
    assert shorten(LONG, 40) == f"void at::native::{'x' * 9}…d<float>(int)"
    assert all(len(line) <= 96 for line in render(gpu, "txt").splitlines())


def test_control_and_reordering_characters_are_replaced() -> None:
    assert clean("a\x1b[31mb\u202ec\nd\ud800") == "a\ufffd[31mb\ufffdc\ufffdd\ufffd"


def test_simulated_and_partial_stand_before_the_verdict(gpu: Report) -> None:
    html = render(gpu, "html")
    verdict = html.index('class="verdict"')
    assert 0 < html.index("Simulated:") < verdict
    assert 0 < html.index("Partial:") < verdict
    assert render(gpu, "txt").splitlines()[0] == (
        "Tracemill report: job [SIMULATED] [PARTIAL DATA]"
    )


def test_a_complete_recording_has_no_banner(tmp_path: Path) -> None:
    html = render(cpu_report(tmp_path), "html")
    assert 'class="banner"' not in html


def test_text_opens_with_the_verdict(tmp_path: Path) -> None:
    lines = render(cpu_report(tmp_path), "txt").splitlines()
    assert lines[:2] == ["Tracemill report: job", "=" * 96]
    assert lines[2].startswith("1. 40 steps take 51.0 ms each (median); 25 % of the 3.51 s from")
    text = " ".join(" ".join(lines).split())
    assert "Before steps 30 to 33 the job waited 4 x 150 ms for input" in text
    assert "step_23 took 412 ms, 8.1x the median of 51.0 ms; Backward in it took 386 ms" in text
    assert all(len(line) <= 96 for line in lines)


def test_tables_are_accessible(report: Report) -> None:
    page = _Page(render(report, "html"))
    heads = [attributes for tag, attributes in page.tags if tag == "th"]
    assert heads and all(attributes.get("scope") in ("col", "row") for attributes in heads)
    for tag, attributes in page.tags:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")


def test_exact_values_stand_behind_readable_ones(gpu: Report) -> None:
    html = render(gpu, "html")
    assert re.search(r'title="1,200,000,000 ns">1\.20 s<', html)


def test_json_is_the_model_with_stable_keys(report: Report) -> None:
    model = json.loads(render(report, "json"))
    assert list(model) == [
        "schema_version", "report_version", "job_name", "job", "verdict", "simulated", "partial",
        "findings", "abstained", "checked", "figures",
    ]  # fmt: skip
    assert list(model["figures"]) == [
        "time_breakdown", "kernels", "launches", "activity", "memory_ops", "precision", "steps",
        "annotations", "annotations_left_out", "utilization", "cpu", "cpu_left_out", "collectives",
        "launch_latency", "drops", "processes",
    ]  # fmt: skip
    assert model["verdict"] == list(report.verdict)
    assert [f["at_stake_ns"] for f in model["findings"]] == [f.at_stake_ns for f in report.findings]


def test_every_rule_is_accounted_for(report: Report) -> None:
    spoken = {f.rule for f in report.findings} | {f.rule for f in report.abstained}
    assert len(spoken) + len(report.checked) == 14
    assert not spoken & set(report.checked)


def test_a_number_json_cannot_write_becomes_null(tmp_path: Path) -> None:
    row = job_row(gpu_utilization=float("nan"))
    model = json.loads(render(report_of(job_with(tmp_path), row), "json"))
    assert model["job"]["gpu_utilization"] is None


def test_an_empty_job_renders(tmp_path: Path) -> None:
    empty = report_of(job_with(tmp_path), job_row())
    for fmt in ("html", "json", "txt"):
        assert render(empty, fmt)


def test_an_unknown_format_is_refused(gpu: Report) -> None:
    with pytest.raises(UsageError, match="take one of html, json, txt"):
        render(gpu, "pdf")


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_colours_meet_wcag_aa_in_both_themes() -> None:
    style = Path(render.__code__.co_filename).parent / "html" / "style.css"
    themes = re.findall(r":root \{(.*?)\}", style.read_text("utf-8"), re.S)[:2]
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", theme))
        for name in ("text", "quiet", "accent", "high", "medium", "low", "info"):
            for ground in ("ground", "raised"):
                assert _contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        for name in ("compute", "memory", "wait"):
            assert _contrast(colours[name], colours["ground"]) >= 3.0, name

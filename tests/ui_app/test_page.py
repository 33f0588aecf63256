"""The built page and its sources: weight, contrast of the colours, nothing foreign in it."""

from __future__ import annotations

import gzip
import json
import re
from itertools import product
from pathlib import Path

import pytest
from tracemill_ui.app import STATIC_FOLDER

WEB = Path(__file__).resolve().parents[2] / "ui_app/web"
MAX_PAGE_BYTES = 250 * 1024


def colours() -> dict[str, tuple[str, str]]:
    """The colour pairs of the style sheet: (light, dark) by name."""
    pairs = re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (WEB / "src/app.css").read_text()
    )
    return {name: (light, dark) for name, light, dark in pairs}


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


SHAPES = [f"hue-{n}" for n in range(12)] + [
    "others", "busy", "idle", "compute", "overlap", "comm", "mem",
]  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1])
def test_shapes_reach_three_to_one(theme: int) -> None:
    found = colours()
    for name in SHAPES:
        assert contrast(found[name][theme], found["surface"][theme]) >= 3, name


@pytest.mark.parametrize("theme", [0, 1])
def test_text_reaches_four_and_a_half_to_one(theme: int) -> None:
    found = colours()
    grounds = ("surface", "ground", "raised")
    for text, ground in product(("text", "muted", "accent", "good", "warn", "bad"), grounds):
        assert contrast(found[text][theme], found[ground][theme]) >= 4.5, (text, ground)
    assert contrast(found["accent-text"][theme], found["accent"][theme]) >= 4.5
    assert contrast(found["text"][theme], found["bad-soft"][theme]) >= 4.5


def test_the_page_is_light() -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the page is not built")
    files = [STATIC_FOLDER / "index.html", *(STATIC_FOLDER / "assets").iterdir()]
    weight = sum(len(gzip.compress(path.read_bytes())) for path in files)
    assert 20_000 < weight <= MAX_PAGE_BYTES


def test_what_is_bundled_comes_with_its_licences() -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the page is not built")
    text = (STATIC_FOLDER / "third-party-licences.txt").read_text()
    for name in ("svelte", "d3-scale", "d3-shape", "@fontsource-variable/inter"):
        assert f"{name}\n" in text


def test_versions_are_exact_and_the_lock_file_names_no_host() -> None:
    package = json.loads((WEB / "package.json").read_text())
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


def test_no_source_sets_markup() -> None:
    sources = [*(WEB / "src").rglob("*.svelte"), *(WEB / "src").rglob("*.ts")]
    assert len(sources) > 20
    for path in sources:
        assert not re.search(r"\{@html|innerHTML|document\.write|eval\(", path.read_text()), path


def test_the_lock_file_holds_everything_it_names() -> None:
    """Else ``npm ci`` refuses it; npm leaves out optional packages that it could not find."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    held = {path.rpartition("node_modules/")[2] for path in packages}
    for path, package in packages.items():
        named = {**package.get("dependencies", {}), **package.get("optionalDependencies", {})}
        assert set(named) <= held, path

"""The app in JupyterLab: its image's build steps, the tile, and the app behind the proxy."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright
from tracemill_analysis.store import open_store
from tracemill_schema.aws import APP_STORE_ENV
from tracemill_ui.app import STATIC_FOLDER

from infra.context import REPOSITORY_ROOT
from tests.support import profiles
from tests.support.aws.server import endpoint, moto_server, new_bucket
from tests.support.browser import CHROMIUM_ARGS, Watch, chromium
from tests.support.dockerfile import Build, link_tree, stages
from tests.support.jupyter import base_environment, jupyterlab
from tests.support.synth import Assembly

pytestmark = pytest.mark.browser

PATIENCE_MS = 60_000
"""JupyterLab and the first answer of the app take seconds even on an idle machine."""


@pytest.fixture(scope="module")
def image(stacks: Assembly, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app's image: ui_app/Dockerfile executed on the context that CDK ships."""
    base = base_environment()
    folder = tmp_path_factory.mktemp("image")
    link_tree(base, folder / "base")
    web, wheels, final = stages(REPOSITORY_ROOT / "ui_app" / "Dockerfile")
    assets = json.loads((stacks.folder / "studio.assets.json").read_text())
    (asset,) = assets["dockerImages"].values()
    context = stacks.folder / asset["source"]["directory"]

    # Set-up has executed the page's stage (test_images.py compares the commands).
    page = folder / "web"
    shutil.copytree(STATIC_FOLDER, page / "src/ui_app/server/src/tracemill_ui/static")
    build = Build(context, folder, Path(sys.executable), made={web.name: page})
    build.run(wheels)
    build.python = folder / "base" / "bin" / "python"
    build.run(final)
    return folder / "base"


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a JupyterLab that is told a store in S3."""
    chromium()
    with moto_server() as address:
        uri = f"s3://{new_bucket()}/team"
        store: Any = open_store(uri)
        profiles.write_gpu_job(store)
        profiles.write_cpu_job(store)
        environment = {**endpoint(address), APP_STORE_ENV: uri}
        with jupyterlab(image, tmp_path_factory.mktemp("home"), environment) as url:
            yield url


def test_the_tile_opens_the_app_over_the_store(lab: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{lab}lab")
        tile = page.locator(".jp-LauncherCard", has_text="Tracemill")
        expect(tile).to_be_visible(timeout=PATIENCE_MS)
        icon = tile.locator("img")
        expect(icon).to_have_js_property("complete", True)
        assert icon.evaluate("image => image.naturalWidth") > 0, "the icon is not served"

        with context.expect_page() as opened:
            tile.click()
        app = opened.value
        watch = Watch(app, f"{lab}tracemill/")
        app.set_default_timeout(PATIENCE_MS)
        app.wait_for_url(f"{lab}tracemill/**")
        expect(app).to_have_title(re.compile("Tracemill"), timeout=PATIENCE_MS)
        expect(app.locator("[data-job]")).to_have_count(2, timeout=PATIENCE_MS)

        # Loading is a POST: through the proxy, with the browser's own origin headers.
        app.get_by_role("button", name="Load gpu-job").click()
        loaded = app.locator("[data-loaded=gpu-job]")
        expect(loaded.get_by_text("loaded", exact=True)).to_be_visible(timeout=PATIENCE_MS)
        loaded.get_by_role("link", name="Dashboard").click()
        idle = app.get_by_text("37.5 % of GPU time was idle")
        expect(idle).to_be_visible(timeout=PATIENCE_MS)
        assert watch.problems == []
        browser.close()

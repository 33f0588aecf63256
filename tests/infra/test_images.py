"""The two Dockerfiles, checked, and their build steps executed on the context that CDK ships."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracemill_schema.aws import FUNCTIONS, Env

from infra.context import APP_IMAGE_PARTS, FUNCTION_IMAGE_PARTS, REPOSITORY_ROOT
from tests.support.dockerfile import Build, Stage, copied_from, problems, stages
from tests.support.synth import Assembly

LAMBDA = REPOSITORY_ROOT / "lambdas" / "Dockerfile"
APP = REPOSITORY_ROOT / "ui_app" / "Dockerfile"
TASK_ROOT = "/var/task"
"""LAMBDA_TASK_ROOT of the base image."""


def context(assembly: Assembly, stack: str) -> Path:
    """The folder that CDK hands to docker build."""
    assets = json.loads((assembly.folder / f"{stack}.assets.json").read_text())
    (image,) = assets["dockerImages"].values()
    return assembly.folder / str(image["source"]["directory"])


@pytest.mark.parametrize(("dockerfile", "stack"), [(LAMBDA, "pipeline"), (APP, "studio")])
def test_the_dockerfiles_are_clean(stacks: Assembly, dockerfile: Path, stack: str) -> None:
    assert problems(dockerfile, context(stacks, stack)) == []


def test_the_check_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM python\nWORKDIR src\nADD a b\nCOPY x y z\n"
        "RUN cd a && \\\n  pip install q && npm install\n"
    )
    found = problems(tmp_path / "Dockerfile", tmp_path)
    assert len(found) == 10
    for rule in ("DL3006", "DL3000", "DL3020", "DL3021", "DL3003", "DL3042"):
        assert any(rule in text for text in found)
    assert found[-1].startswith("line 5: npm ci")


@pytest.mark.parametrize(
    ("dockerfile", "parts"), [(LAMBDA, FUNCTION_IMAGE_PARTS), (APP, APP_IMAGE_PARTS)]
)
def test_the_context_is_no_larger_than_what_is_copied(
    dockerfile: Path, parts: tuple[str, ...]
) -> None:
    copied = {name for stage in stages(dockerfile) for name in copied_from(stage)}
    assert copied <= set(parts)
    assert set(parts) - copied <= {"constraints.txt"}


def test_the_functions_image_holds_all_that_the_handlers_import(
    stacks: Assembly, tmp_path: Path
) -> None:
    build = Build(
        context(stacks, "pipeline"),
        tmp_path,
        Path(sys.executable),
        {"LAMBDA_TASK_ROOT": TASK_ROOT},
    )
    image = tmp_path
    for stage in stages(LAMBDA):
        image = build.run(stage)
    native = list(image.glob("var/task/tracemill_analysis/importers/kineto/_native*.so"))
    assert native, "the decoder of traces is read in Python"
    modules = [function.handler.rpartition(".")[0] for function in FUNCTIONS]
    code = f"import importlib\nfor name in {modules!r}: importlib.import_module(name).handler"
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    done = subprocess.run(
        [bare / "bin" / "python", "-c", code],
        # Lambda starts the handlers with its task root as the only place of ours.
        env={
            "PYTHONPATH": str(image / TASK_ROOT.lstrip("/")),
            "AWS_DEFAULT_REGION": "eu-central-1",
            "HOME": str(tmp_path),
            **dict.fromkeys(Env, "1"),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_is_built_as_in_the_checkout() -> None:
    """The stage of the page is what set-up has done here already: the same two commands."""
    web: Stage = next(stage for stage in stages(APP) if stage.name == "web")
    commands = [one.text for one in web.instructions if one.word == "RUN"]
    assert commands == ["npm ci --no-audit --no-fund", "npm run build"]
    setup = (REPOSITORY_ROOT / "tools" / "setup.sh").read_text()
    assert "npm ci --no-audit --no-fund" in setup
    assert "npm run --silent build" in setup

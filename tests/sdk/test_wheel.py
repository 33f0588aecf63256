"""The wheels install into bare environments of the oldest and a new Python and work there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tmraw
from tests.support.recording import environment, script

pytestmark = [pytest.mark.wheel, pytest.mark.slow]

_ROOT = Path(__file__).resolve().parents[2]
_VERSIONS = ("3.9", "3.13")
_HEAVY = {"pyarrow", "numpy", "boto3"}

_OLD_SCRIPT = """
import {module} as smprof
SMProf = smprof.SMProfiler.instance()
config = smprof.Config()
config.profiler = {{"EnableCuda": "1"}}
SMProf.configure(config)
for epoch in range(2):
    SMProf.start_profiling()
    for i in range(3):
        with smprof.annotate(f"step_{{i}}"):
            handle = smprof.annotation_begin("Forward")
            smprof.annotation_end(handle)
    SMProf.stop_profiling()
"""


def _interpreter(version: str) -> str:
    """A Python of this version: pyenv's, else from PATH; skips when there is none."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    candidates = sorted((root / "versions").glob(f"{version}.*/bin/python{version}"))
    on_path = shutil.which(f"python{version}")
    for candidate in [*map(str, candidates), *([on_path] if on_path else [])]:
        probe = [candidate, "-c", "import ensurepip, venv, sys; print(sys.version)"]
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.startswith(f"{version}."):
            return candidate
    pytest.skip(f"no Python {version} with venv here")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the wheels of the recorder and of the drop-in modules."""
    folder = tmp_path_factory.mktemp("wheels")
    source = tmp_path_factory.mktemp("source") / "sdk"
    shutil.copytree(
        _ROOT / "sdk", source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    )
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    for project in (source, source / "compat"):
        subprocess.run([*command, "-w", str(folder), str(project)], check=True, timeout=300)
    return folder


def test_one_wheel_serves_every_python(wheels: Path) -> None:
    names = sorted(path.name for path in wheels.iterdir())
    assert len(names) == 2
    assert names[0].startswith("tracemill-0.1.0-cp39-abi3-")
    assert names[1] == "tracemill_smprof-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize("version", _VERSIONS)
def test_the_wheels_work_in_a_bare_environment(version: str, wheels: Path, tmp_path: Path) -> None:
    interpreter = _interpreter(version)
    venv = tmp_path / "venv"
    subprocess.run([interpreter, "-m", "venv", str(venv)], check=True, timeout=120)
    python = str(venv / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(wheels)]
    subprocess.run([*install, "tracemill-smprof"], check=True, timeout=120)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout
    installed = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert {"tracemill", "tracemill-smprof"} <= installed
    assert installed <= {"tracemill", "tracemill-smprof", "pip", "setuptools", "wheel"}
    assert not installed & _HEAVY
    for module in ("smprof", "smppy"):
        store = tmp_path / module
        path = script(tmp_path, _OLD_SCRIPT.format(module=module), f"train_{module}.py")
        env = environment(TRACEMILL_OUTPUT=str(store))
        done = subprocess.run([python, str(path)], env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        expected = [name for i in range(3) for name in (f"step_{i}", "Forward")]
        assert [segment.names() for segment in tmraw.read_all(store)] == [expected] * 2
    _check_zero_code(python, tmp_path)


def _check_zero_code(python: str, folder: Path) -> None:
    store = folder / "autostart"
    env = environment(TRACEMILL_OUTPUT=str(store), TRACEMILL_AUTOSTART="1")
    code = "import tracemill\nwith tracemill.step(4): pass"
    done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert tmraw.read_one(store).names() == ["step_4"]

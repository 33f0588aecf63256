"""The native core: compiles without a warning and without Python, and its own checks pass."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tracemill_schema.targets.sdk_python import kinds_document

from tests.support import tmraw

_ROOT = Path(__file__).resolve().parents[2]
_NATIVE = _ROOT / "sdk" / "native"
_STRICT = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def _is_shim(path: Path) -> bool:
    return path.name == "module.cpp" or path.name.startswith("python_")


def _core_sources() -> list[str]:
    return sorted(str(path) for path in _NATIVE.rglob("*.cpp") if not _is_shim(path))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")
def test_the_core_compiles_strictly_and_passes_its_checks(tmp_path: Path) -> None:
    program = tmp_path / "core_test"
    command = ["g++", *_STRICT, f"-I{_NATIVE}", *_core_sources()]
    command += [str(_ROOT / "tests" / "sdk" / "native" / "core_test.cpp"), "-o", str(program)]
    built = subprocess.run([*command, "-lpthread", "-ldl"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    folder = tmp_path / "node=test"
    meta = f'"kinds":{json.dumps(kinds_document())}'
    command = [str(program), str(folder), meta]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "all checks passed\n")
    segments = tmraw.read_all(folder)
    assert len(segments) >= 10
    assert all(segment.tail_bytes == 0 for segment in segments)
    assert {"work", "step"} <= {name for s in segments for name in s.strings.values()}


def test_the_core_knows_nothing_of_python() -> None:
    for path in [*_NATIVE.rglob("*.hpp"), *_NATIVE.rglob("*.cpp")]:
        if _is_shim(path):
            continue
        assert not re.search(r"#include\s*<Python\.h>|\bPy[A-Z_]", path.read_text()), path.name

"""Our offsets, record sizes and ids are those of NVIDIA's headers, where some are at hand.

Looked for: the toolkits of this machine, and folders named by CUPTI_HEADERS (separated by colons).
``CUPTI_WHEELS=1`` fetches NVIDIA's wheels of all releases (about 150 MB), which need their licence.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.sdk.test_gpu_records import VERSIONS

ROOT = Path(__file__).resolve().parents[2]
# Newest CUPTI and runtime wheel of each release that changed a record.
WHEELS = {
    "11.7": ("nvidia-cuda-cupti-cu11==11.7.*", "nvidia-cuda-runtime-cu11==11.7.*"),
    "11.8": ("nvidia-cuda-cupti-cu11==11.8.*", "nvidia-cuda-runtime-cu11==11.8.*"),
    "12.1": ("nvidia-cuda-cupti-cu12==12.1.*", "nvidia-cuda-runtime-cu12==12.1.*"),
    "12.4": ("nvidia-cuda-cupti-cu12==12.4.*", "nvidia-cuda-runtime-cu12==12.4.*"),
    "12.6": ("nvidia-cuda-cupti-cu12==12.6.*", "nvidia-cuda-runtime-cu12==12.6.*"),
    "12.8": ("nvidia-cuda-cupti-cu12==12.8.*", "nvidia-cuda-runtime-cu12==12.8.*"),
    "12.9": ("nvidia-cuda-cupti-cu12==12.9.*", "nvidia-cuda-runtime-cu12==12.9.*"),
    "13.0": ("nvidia-cuda-cupti==13.0.*", "nvidia-cuda-runtime==13.0.*"),
    "13.1": ("nvidia-cuda-cupti==13.1.*", "nvidia-cuda-runtime==13.1.*"),
    "13.2": ("nvidia-cuda-cupti==13.2.*", "nvidia-cuda-runtime==13.2.*"),
    "13.3": ("nvidia-cuda-cupti==13.3.*", "nvidia-cuda-runtime==13.3.*"),
    "13.5": ("nvidia-cuda-cupti==13.5.*", "nvidia-cuda-runtime==13.5.*"),
}
STRUCTS = {
    "KERNEL": "CUpti_ActivityKernel",
    "MEMCPY": "CUpti_ActivityMemcpy",
    "PTOP": "CUpti_ActivityMemcpyPtoP",
    "MEMSET": "CUpti_ActivityMemset",
    "GRAPH": "CUpti_ActivityGraphTrace",
    "SYNC": "CUpti_ActivitySynchronization",
    "OVERHEAD": "CUpti_ActivityOverhead",
}


def folders() -> list[str]:
    given = os.environ.get("CUPTI_HEADERS", "")
    found = [Path(part) for part in given.split(":") if part]
    found += sorted(Path("/usr/local").glob("cuda-*/include"))
    return [str(folder) for folder in found if (folder / "cupti.h").exists()]


def check(tmp_path: Path, *includes: Path) -> tuple[int, ...]:
    """Compile the checks against headers; CUPTI's version and the sizes of its records."""
    text = next(i for i in includes if (i / "cupti_activity.h").exists())
    header = (text / "cupti_activity.h").read_text(errors="replace")
    macros = []
    for macro, name in STRUCTS.items():
        # "}} CUpti_ActivityKernel9;" : the newest one that is not set aside as deprecated.
        numbers = re.findall(rf"}}\s*{name}(\d*)\s*;", header)
        macros.append(f"-D{macro}={name}{max(numbers, key=lambda n: int(n or 1))}")
    program = tmp_path / "offsets"
    command = ["g++", "-std=c++17", f"-I{ROOT / 'sdk' / 'native'}"]
    command += [f"-I{include}" for include in includes]
    command += [*macros, str(ROOT / "tests/sdk/native/offsets.cpp"), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")
@pytest.mark.skipif(not folders(), reason="no header of CUPTI here")
@pytest.mark.parametrize("folder", folders())
def test_offsets_are_those_of_a_toolkit(folder: str, tmp_path: Path) -> None:
    version, *sizes = check(tmp_path, Path(folder))
    known = {found[0]: found[1:] for found in VERSIONS.values()}
    if version in known:
        assert tuple(sizes) == known[version]


@pytest.mark.skipif(os.environ.get("CUPTI_WHEELS") != "1", reason="CUPTI_WHEELS=1 fetches them")
@pytest.mark.parametrize("release", WHEELS)
def test_offsets_are_those_of_the_wheels(release: str, tmp_path: Path) -> None:
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir"]
    subprocess.run([*fetch, "-d", str(tmp_path), *WHEELS[release]], check=True)
    for wheel in tmp_path.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if "/include/" in name]
            archive.extractall(tmp_path, names)
        wheel.unlink()
    includes = sorted(
        {path.parent for path in tmp_path.rglob("*.h") if path.parent.name == "include"}
    )
    version, *sizes = check(tmp_path, *includes)
    assert tuple(sizes) == VERSIONS[release][1:], version

"""Compiles the stand-ins, each under the soname of the library it stands for."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = {
    "libcupti.so.12": ("fake_cupti.cpp", []),
    "old/libcupti.so.11.8": ("fake_cupti.cpp", ["-DFAKE_OLD"]),
    "libcuda.so.1": ("fake_cuda.cpp", []),
    "libnvidia-ml.so.1": ("fake_nvml.cpp", []),
    "libstall.so": ("stalled_disk.cpp", ["-ldl"]),
}


def build(folder: Path, *flags: str) -> Path:
    """Compile all stand-ins into ``folder`` and return it."""
    for name, (source, options) in LIBRARIES.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        command = ["g++", "-std=c++17", "-O1", "-g", "-shared", "-fPIC", *options, *flags]
        command += [str(HERE / source), f"-Wl,-soname,{target.name}", "-o", str(target)]
        subprocess.run([*command, "-lpthread"], check=True, capture_output=True, text=True)
    return folder

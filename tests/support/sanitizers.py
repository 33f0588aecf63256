"""A recorder built with a sanitizer of the compiler, and how scripts are run with it.

``SANITIZED_RECORDER=<sanitizer>:<folder>`` in the environment of the tests makes every script that
``recording.run`` starts use the recorder in that folder; what the sanitizer finds ends the script
with ``FOUND`` and stands in its stderr.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "SANITIZED_RECORDER"
FOUND = 66
SANITIZERS = {"address": "libasan.so", "thread": "libtsan.so"}
_OPTIONS = {
    # Python keeps much until its end, so leaks are not looked for.
    "ASAN_OPTIONS": f"exitcode={FOUND}:detect_leaks=0:detect_stack_use_after_return=1",
    "TSAN_OPTIONS": f"exitcode={FOUND}:die_after_fork=0:halt_on_error=1",
}


def library(sanitizer: str) -> Path | None:
    """The sanitizer's runtime, which must be loaded before Python; None if there is none."""
    command = ["g++", f"-print-file-name={SANITIZERS[sanitizer]}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return Path(found) if Path(found).is_absolute() and Path(found).exists() else None


def build(sanitizer: str, folder: Path) -> None:
    """Make a package ``tracemill`` in ``folder`` whose recorder carries the sanitizer."""
    native = ROOT / "sdk" / "native"
    package = folder / "tracemill"
    package.mkdir(parents=True, exist_ok=True)
    for module in (ROOT / "sdk" / "src" / "tracemill").glob("*.py"):
        link = package / module.name
        link.unlink(missing_ok=True)
        link.symlink_to(module)
    flags = ["-std=c++17", "-O0", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-omit-frame-pointer"]
    flags += [f"-fsanitize={sanitizer}", "-DPy_LIMITED_API=0x03090000", f"-I{native}"]
    flags += [f"-I{sysconfig.get_paths()['include']}"]
    if sanitizer == "thread":
        flags.append("-Wno-tsan")  # fences are not modelled; the slots that use them are atomics

    def compile_one(source: Path) -> str:
        target = folder / f"{source.stem}.o"
        subprocess.run(["g++", *flags, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sorted(native.rglob("*.cpp"))))
    output = str(package / "_native.abi3.so")
    link_flags = ["-shared", f"-fsanitize={sanitizer}", "-ldl", "-lpthread"]
    subprocess.run(["g++", *objects, *link_flags, "-o", output], check=True)


def active() -> str | None:
    """The sanitizer that scripts run with now."""
    return os.environ.get(VARIABLE, "").partition(":")[0] or None


def compiler_flags() -> list[str]:
    """Flags for a library that is loaded beside the sanitized recorder."""
    sanitizer = active()
    return [f"-fsanitize={sanitizer}"] if sanitizer else []


def wrap(command: list[str], env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """``command`` and its environment, changed to use the sanitized recorder if there is one."""
    sanitizer, _, folder = os.environ.get(VARIABLE, "").partition(":")
    if not sanitizer or command[0] != sys.executable:
        return command, env
    path = os.pathsep.join([folder, env.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    # The thread sanitizer needs the addresses that it knows, hence setarch; it cannot load into a
    # shell, hence env in front of Python alone.
    prefix = ["setarch", "-R", "env", f"LD_PRELOAD={library(sanitizer)}"]
    return [*prefix, *command], {**env, **_OPTIONS, "PYTHONPATH": path}

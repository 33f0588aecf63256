"""Who this process is: store folder, job, node, rank, what it runs. Read at the first start."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

from tracemill import _generated
from tracemill._guard import UsageError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_FRAMEWORKS = (("torch", "PyTorch"), ("tensorflow", "TensorFlow"), ("jax", "JAX"))


def safe_name(text: str, fallback: str) -> str:
    """Turn any text into a name that may be part of an object key."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    cleaned = re.sub(r"\.{2,}", ".", cleaned)[:128].strip("._-")
    return cleaned or fallback


def first_env(names: tuple[str, ...]) -> str | None:
    """Value of the first of these variables that is set and not empty."""
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    return None


def whole_number(text: str | None) -> int | None:
    """The number a variable gives, None if it is absent or no number."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def in_sagemaker() -> bool:
    """Whether this is a SageMaker training container."""
    return bool(os.environ.get("TRAINING_JOB_NAME")) or os.path.isdir("/opt/ml/input/config")


def output_folder(option: str | None) -> str:
    """The store folder as an absolute path."""
    default = _generated.SAGEMAKER_OUTPUT if in_sagemaker() else _generated.DEFAULT_OUTPUT
    return os.path.abspath(os.path.expanduser(option or default))


def job_name(option: str | None, from_keyword: bool) -> str:
    """The job's name. Raises UsageError if the script itself gave one that cannot be used."""
    if option and from_keyword and (not _NAME.fullmatch(option) or ".." in option):
        raise UsageError(
            f"job name {option!r} cannot be used: take up to 128 letters, digits, '.', '_' or '-', "
            "beginning and ending with a letter or digit"
        )
    named = option or first_env(_generated.JOB_ENVS)
    if named:
        return safe_name(named, "job")
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(_launch_time_s()))
    name = f"{safe_name(script_name(), 'python')[:100]}-{stamp}"
    # Processes that this one starts belong to the same job.
    os.environ["TRACEMILL_JOB"] = name
    return name


def script_name() -> str:
    """Base name of the running script, without arguments and without ``.py``."""
    command = sys.argv[0] if getattr(sys, "argv", None) else ""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if command in ("", "-c", "-m"):
        return main.name.partition(".")[0] if main is not None else "python"
    base = os.path.basename(command)
    if base == "__main__.py":
        base = os.path.basename(os.path.dirname(os.path.abspath(command)))
    return base[:-3] if base.endswith(".py") else base


def _launch_time_s() -> float:
    """Now; for one rank of several the launcher's start, so that all of a node agree."""
    if first_env(_generated.RANK_ENVS) is None:
        return time.time()
    try:
        with open(f"/proc/{os.getppid()}/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        since_boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.time() - since_boot_s + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time()


def node_name() -> str:
    """Name of the node."""
    return safe_name(first_env(_generated.NODE_ENVS) or os.uname().nodename, "node")


def framework() -> str | None:
    """Name and version of the training framework, only if the script has imported one."""
    for module_name, name in _FRAMEWORKS:
        version = getattr(sys.modules.get(module_name), "__version__", None)
        if version is not None:
            return f"{name} {version}"
    return None


def facts() -> dict[str, Any]:
    """What a segment says about the process. No arguments of the script: they may be secret."""
    uname = os.uname()
    return {
        "rank": whole_number(first_env(_generated.RANK_ENVS)),
        "local_rank": whole_number(first_env(_generated.LOCAL_RANK_ENVS)),
        "world_size": whole_number(first_env(_generated.WORLD_SIZE_ENVS)),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "platform": f"{uname.sysname} {uname.release} {uname.machine}",
        "framework": framework(),
        "instance_type": os.environ.get("SM_CURRENT_INSTANCE_TYPE"),
        "command": script_name(),
    }

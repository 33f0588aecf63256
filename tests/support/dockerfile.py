"""Dockerfiles without a container engine: read, checked, and their build steps executed.

A stage becomes a folder. COPY takes from the build context (or another stage's folder), RUN is
executed by the shell with every absolute path moved below the stage's folder. What a base image
brings or the system's packages add (Python, compiler) is this machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement


@dataclass(frozen=True)
class Instruction:
    """One instruction with its continuation lines joined."""

    line: int
    word: str
    text: str


@dataclass(frozen=True)
class Stage:
    """One FROM with what follows it."""

    base: str
    name: str
    instructions: tuple[Instruction, ...]


def instructions(path: Path) -> Iterator[Instruction]:
    """Read a Dockerfile."""
    joined, first = "", 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not joined and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first or number
        joined += " " + line.strip().removesuffix("\\").strip()
        if not line.rstrip().endswith("\\"):
            word, _, text = joined.strip().partition(" ")
            yield Instruction(first, word, text.strip())
            joined, first = "", 0


def stages(path: Path) -> list[Stage]:
    """Return the stages, bases with the defaults of ARGs filled in; the last one is the image."""
    defaults: dict[str, str] = {}
    found: list[tuple[str, str, list[Instruction]]] = []
    for one in instructions(path):
        if one.word == "FROM":
            base, _, name = one.text.partition(" AS ")
            filled = re.sub(r"\$\{(\w+)\}", lambda m: defaults[m.group(1)], base)
            found.append((filled, name, []))
        elif not found:
            assert one.word == "ARG", f"line {one.line}: {one.word} before FROM"
            name, _, value = one.text.partition("=")
            defaults[name] = value
        else:
            found[-1][2].append(one)
    return [Stage(base, name, tuple(inner)) for base, name, inner in found]


def problems(path: Path, context: Path) -> list[str]:
    """What is wrong with a Dockerfile, one line each; hadolint's rules by their numbers."""
    found: list[str] = []
    names: set[str] = set()
    for stage in stages(path):
        tag = stage.base.rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest") and stage.base not in names:
            found.append(f"{stage.base}: pin the version of the base (DL3006, DL3007)")
        if not stage.base.startswith("public.ecr.aws/"):
            found.append(f"{stage.base}: take it from public.ecr.aws, which has no pull limit")
        for one in stage.instructions:
            found += [f"line {one.line}: {text}" for text in _instruction_problems(one, context)]
        names.add(stage.name)
    return found


_KNOWN = {"ARG", "CMD", "COPY", "ENV", "RUN", "WORKDIR"}


def _instruction_problems(one: Instruction, context: Path) -> Iterator[str]:
    if one.word not in _KNOWN:
        yield f"{one.word} is not wanted here (ADD: DL3020; USER: the base's own stays)"
    if one.word == "WORKDIR" and not one.text.startswith("/"):
        yield "use an absolute WORKDIR (DL3000)"
    if one.word == "COPY" and "--from=" not in one.text:
        *sources, target = one.text.split()
        yield from (f"COPY {s}: not in the context" for s in sources if not (context / s).exists())
        if len(sources) > 1 and not target.endswith("/"):
            yield "COPY of several needs a target that ends with / (DL3021)"
    if one.word == "RUN":
        if re.search(r"\bcd |\bsudo\b|\bapt-get upgrade\b", one.text):
            yield "no cd, sudo or upgrade in RUN (DL3003, DL3004, DL3005)"
        if re.search(r"\bpip (install|wheel)\b", one.text) and "--no-cache-dir" not in one.text:
            yield "pip with --no-cache-dir (DL3042)"
        if "dnf install" in one.text and "dnf clean all" not in one.text:
            yield "dnf clean all in the same layer (DL3040)"
        if re.search(r"\bnpm (install|i)\b", one.text):
            yield "npm ci takes the versions of the lock file, npm install does not"


@dataclass
class Build:
    """Executes stages below ``folder``. ``made`` holds the stages that are there already."""

    context: Path
    folder: Path
    python: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    made: dict[str, Path] = field(default_factory=dict)

    def run(self, stage: Stage) -> Path:
        """Execute all instructions; return the folder that stands for the image's root."""
        root = self.folder / (stage.name or "image")
        here = root
        here.mkdir(parents=True)
        for one in stage.instructions:
            if one.word == "WORKDIR":
                here = self._below(root, here, one.text)
                here.mkdir(parents=True, exist_ok=True)
            elif one.word == "COPY":
                self._copy(root, here, one.text)
            elif one.word == "RUN":
                self._run(root, here, one.text)
        if stage.name:
            self.made[stage.name] = root
        return root

    def _below(self, root: Path, here: Path, text: str) -> Path:
        filled = re.sub(r"\$\{(\w+)\}", lambda m: self.environment[m.group(1)], text)
        return root / filled.lstrip("/") if filled.startswith("/") else here / filled

    def _copy(self, root: Path, here: Path, text: str) -> None:
        *sources, target_text = text.split()
        source_root = self.context
        if sources[0].startswith("--from="):
            source_root = self.made[sources.pop(0).removeprefix("--from=")]
        target = self._below(root, here, target_text)
        for name in sources:
            source = source_root / name.lstrip("/")
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                into = target / source.name if target_text.endswith("/") else target
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, into)

    def _run(self, root: Path, here: Path, text: str) -> None:
        if text.startswith("dnf install "):
            return
        moved = re.sub(r"(?<=[\s=])/(?=\w)", f"{root}/", text)
        if target := re.search(r"--target (\S+)", moved):
            # The outside packages come from this environment, where set-up has put them with the
            # same constraints: exactly those that are asked for, and theirs.
            files = re.findall(r"-r (\S+)", moved)
            parts = re.findall(r"\./(\S+)", moved)
            moved = re.sub(r"-r \S+ ", "", moved) + " --no-deps"
            asked = [line for file in files for line in (here / file).read_text().splitlines()]
            asked += [need for part in parts for need in dependencies(here / part)]
            link_packages(asked, Path(target.group(1)))
        # pip's cache is what makes this quick; in an image it would only be dead weight.
        command = re.sub(r"\bpip ", f"{self.python} -m pip ", moved.replace("--no-cache-dir ", ""))
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=here,
            env=os.environ | _PIP | dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"RUN {text}\n{done.stdout}\n{done.stderr}"


_PIP = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_QUIET": "1",
    "PIP_NO_COMPILE": "1",
    # Means: build with the setuptools that is installed, instead of fetching one for each package.
    "PIP_NO_BUILD_ISOLATION": "0",
}


def link_tree(source: Path, target: Path) -> None:
    """Copy a folder by hard links where they are possible: an image's lower layer."""
    shutil.copytree(source, target, symlinks=True, copy_function=_link)


def _link(file: str, copy: str) -> None:
    try:
        os.link(file, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(file, copy, follow_symlinks=False)


def dependencies(part: Path) -> list[str]:
    """What a project of ours needs from outside."""
    project = tomllib.loads((part / "pyproject.toml").read_text())["project"]
    return [need for need in project["dependencies"] if not need.startswith("tracemill-")]


def link_packages(requirements: Iterable[str], target: Path) -> None:
    """Link the installed packages that ``requirements`` ask for, and those they need in turn."""
    todo, done = [Requirement(r) for r in requirements if r and not r.startswith("#")], set()
    while todo:
        one = todo.pop()
        if one.name in done or not (one.marker is None or one.marker.evaluate({"extra": ""})):
            continue
        done.add(one.name)
        package = distribution(one.name)
        assert one.specifier.contains(package.version), f"{one}: {package.version} is installed"
        todo += [Requirement(r) for r in package.requires or []]
        for file in package.files or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                copy = target / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                _link(str(file.locate()), str(copy))


def copied_from(stage: Stage) -> set[str]:
    """First folder of everything a stage copies from the context."""
    return {
        PurePosixPath(name).parts[0]
        for one in stage.instructions
        if one.word == "COPY" and "--from=" not in one.text
        for name in one.text.split()[:-1]
    }

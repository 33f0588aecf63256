"""Builds the native core and puts ``tracemill_autostart.pth`` beside the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
NATIVE = Path("native")
SOURCES = sorted(str(path.relative_to(HERE)) for path in (HERE / NATIVE).rglob("*.cpp"))
HEADERS = sorted(str(path.relative_to(HERE)) for path in (HERE / NATIVE).rglob("*.hpp"))
PTH = "tracemill_autostart.pth"
# One line, run by `site` at every start of Python: it must cost nothing and never fail.
PTH_LINE = (
    "import os; os.environ.get('TRACEMILL_AUTOSTART', '0') not in ('', '0') and "
    "__import__('importlib').import_module('tracemill._autostart').run()\n"
)
LINUX = sys.platform.startswith("linux")


class BuildExt(build_ext):
    """Links zstd in when a static library is at hand and says clearly what a failed build needs."""

    def build_extension(self, ext: Extension) -> None:
        """Build ``ext``; SystemExit with what is needed if the compiler fails."""
        library = self._static_zstd()
        if library:
            ext.define_macros.append(("TRACEMILL_STATIC_ZSTD", "1"))
            ext.extra_objects.append(library)
        elif LINUX:
            ext.libraries.append("dl")
        try:
            super().build_extension(ext)
        except Exception as error:
            raise SystemExit(
                "tracemill: the native recorder could not be built. It needs a C++17 compiler "
                f"(g++ 8 or clang 7, or newer) and Python's headers. The compiler said: {error}"
            ) from error

    def _static_zstd(self) -> str | None:
        """Path of a libzstd.a that links into a shared object, or None."""
        if os.environ.get("TRACEMILL_NO_STATIC_ZSTD") == "1" or not LINUX:
            return None
        compiler = self.compiler.compiler_cxx[0] if self.compiler.compiler_cxx else "c++"
        try:
            found = subprocess.run(
                [compiler, "-print-file-name=libzstd.a"], capture_output=True, text=True, check=True
            ).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return None
        if not os.path.isabs(found) or not os.path.exists(found):
            return None
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.cpp")
            source.write_text(
                "#include <zstd.h>\nunsigned probe() { return ZSTD_versionNumber(); }\n"
            )
            command = [compiler, "-shared", "-fPIC", str(source), found, "-o", f"{folder}/probe.so"]
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                return None
        return found


class BuildPy(build_py):
    """Adds the .pth file to the wheel's root."""

    def run(self) -> None:
        """Build the package, then write the file beside it."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        target = Path(self.build_lib, PTH)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(PTH_LINE, encoding="utf-8")

    def get_outputs(self, include_bytecode: bool = True) -> list:
        """Add the file to what gets installed and uninstalled."""
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib, PTH))]


compile_args = ["-std=c++17", "-O3", "-fvisibility=hidden", "-fno-plt", "-Wall", "-Wextra"]
link_args = []
if LINUX:
    # The unwinder must be the process's own libgcc_s: glibc unwinds a thread with it, and with a
    # second copy in here that ends in an abort. C++'s library is brought along.
    link_args = ["-static-libstdc++", "-shared-libgcc", "-Wl,--exclude-libs,ALL"]
if os.environ.get("TRACEMILL_SANITIZE"):
    flag = "-fsanitize=" + os.environ["TRACEMILL_SANITIZE"]
    compile_args += [flag, "-g", "-fno-omit-frame-pointer"]
    link_args = [flag]
elif LINUX and shutil.which("strip"):
    link_args.append("-Wl,--strip-all")

setup(
    ext_modules=[
        Extension(
            "tracemill._native",
            sources=SOURCES,
            depends=[*HEADERS, "setup.py"],
            include_dirs=[str(NATIVE)],
            define_macros=[("Py_LIMITED_API", "0x03090000")],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            py_limited_api=True,
            language="c++",
        )
    ],
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)

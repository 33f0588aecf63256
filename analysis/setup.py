"""Builds the native decoder of Kineto traces, if a C++ compiler is at hand.

The decoder only makes imports faster: without it the same events are read in Python.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
NATIVE = Path("native")

setup(
    ext_modules=[
        Extension(
            "tracemill_analysis.importers.kineto._native",
            sources=sorted(str(p.relative_to(HERE)) for p in (HERE / NATIVE).glob("*.cpp")),
            depends=sorted(str(p.relative_to(HERE)) for p in (HERE / NATIVE).glob("*.hpp")),
            include_dirs=[str(NATIVE)],
            extra_compile_args=["-std=c++17", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra"],
            language="c++",
            optional=True,
            py_limited_api=True,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

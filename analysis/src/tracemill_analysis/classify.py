"""What a kernel is, as far as its name tells. The rules stand in docs/classification.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tracemill_schema.vocab import KernelCategory, Precision

_COMMUNICATION = re.compile(r"nccl|rccl", re.IGNORECASE)

# ROCm's GEMM libraries: C, A, B index order, then the data type. The longer codes stand first.
_TENSILE = re.compile(r"Cijk_A[a-z]+_B[a-z]+_(I8|F8|B8|[BCDHSZ])")
_TENSILE_TYPES = {
    "I8": Precision.INT8,
    "F8": Precision.FP8,
    "B8": Precision.FP8,
    "B": Precision.BF16,
    "C": Precision.FP32,
    "D": Precision.FP64,
    "H": Precision.FP16,
    "S": Precision.FP32,
    "Z": Precision.FP64,
}

# cuBLAS on Hopper and later: the letter is the type of the inputs.
_NVJET = re.compile(r"nvjet_(?:sm\d+_)?([hqt])")
_NVJET_TYPES = {"h": Precision.FP16, "q": Precision.FP8, "t": Precision.BF16}

# A narrow type says more than a wide one beside it, which is the accumulator's. First match wins.
_NARROW: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    (
        Precision.FP8,
        re.compile(
            r"fp8(?!kvcache)|e4m3|e5m2|float8|(?<![a-z])qmma|(?<![a-z0-9])f8(?![a-z0-9])", re.I
        ),
    ),
    (Precision.TF32, re.compile(r"tf32|xf32|tfloat32", re.I)),
    (Precision.BF16, re.compile(r"bf16|bfloat16|bhalf|DF16b", re.I)),
    (
        Precision.INT8,
        re.compile(
            r"(?<![a-z])(int8|imma)|signed char|i8816|i16832|s8s8|(?<![a-z0-9])s8(?![a-z0-9])"
        ),
    ),
    (
        Precision.FP16,
        re.compile(r"fp16|(?<![a-z])D?f16|half|(?<![a-z])(hgemm|[hs]884|h1688)", re.I),
    ),
    (Precision.FP16, re.compile(r"(?<![a-z])[hs]16816")),
    (Precision.TF32, re.compile(r"(?<![a-z])s1688(?!\d)")),
)

# Among these the first named decides: kernels name their data before their helpers.
_WIDE_TYPES = re.compile(
    r"(?P<FP64>fp64|f64|(?<![a-z])double|(?<![a-z])[dz]gemm|d884)"
    r"|(?P<FP32>fp32|(?<![a-z])f32|(?<![a-z])float|(?<![a-z])g?[sc]gemm|scudnn|cf32)",
    re.I,
)
_INT32 = re.compile(r"[<(]int\b")

# Parameter lists of functions around a kernel (``f(double)::{lambda}``) are not its data.
_ENCLOSING_PARAMETERS = re.compile(r"(?<!lambda)\([^()]*\)(?=::)")

_TENSOR_CORE = re.compile(
    r"_tensorop_|(?<![a-z0-9])[hsdi](884|1688|16816|8816|16832)(?![0-9])|tensor\d+x\d+x\d+"
    r"|(?<![a-zA-Z])(hmma|imma|qmma|gmma|wgmma|mfma|wmma|nvjet)|_MI\d+x\d+|gtcx\d?_|(?i:xdl)"
)
_TENSOR_CORE_IF_NARROW = re.compile(r"xmma_|flash_(fwd|bwd)|flash_attn|fmha|warpgroup", re.I)
_WIDE = frozenset({Precision.FP32, Precision.FP64, Precision.OTHER})


@dataclass(frozen=True)
class KernelClass:
    """Category, precision and whether the name shows matrix units (tensor cores)."""

    category: KernelCategory
    precision: Precision
    tensor_core: bool


@lru_cache(maxsize=65_536)
def classify_kernel(name: str) -> KernelClass:
    """Classify a kernel by its (mangled or plain) name."""
    if _COMMUNICATION.search(name):
        return KernelClass(KernelCategory.COMMUNICATION, Precision.OTHER, False)
    precision = _precision(name)
    tensor_core = (
        precision is Precision.TF32
        or _TENSOR_CORE.search(name) is not None
        or (precision not in _WIDE and _TENSOR_CORE_IF_NARROW.search(name) is not None)
    )
    return KernelClass(KernelCategory.COMPUTE, precision, tensor_core)


def _precision(name: str) -> Precision:
    """Return the type a kernel computes in: its library's own code, else the types it names."""
    if (match := _TENSILE.search(name)) is not None:
        return _TENSILE_TYPES[match.group(1)]
    if (match := _NVJET.search(name)) is not None:
        return _NVJET_TYPES[match.group(1)]
    previous, text = "", name
    while previous != text:
        previous, text = text, _ENCLOSING_PARAMETERS.sub("", text)
    head, parameters = _split_parameters(text)
    return _named_type(head) or _named_type(parameters, integers=False) or Precision.OTHER


def _named_type(text: str, *, integers: bool = True) -> Precision | None:
    for precision, rule in _NARROW:
        if rule.search(text):
            return precision
    if (match := _WIDE_TYPES.search(text)) is not None:
        return Precision(str(match.lastgroup))
    return Precision.INT32 if integers and _INT32.search(text) else None


def _split_parameters(name: str) -> tuple[str, str]:
    """Split ``kernel<types>(parameters)`` before its last parameter list, if it has one."""
    if not name.endswith(")"):
        return name, ""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at], name[at:]
    return name, ""

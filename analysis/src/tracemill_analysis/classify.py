"""What a kernel is, as far as its name tells. The rules are documented in docs/classification.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tracemill_schema.vocab import KernelCategory, Precision

_COMMUNICATION = re.compile(r"nccl|rccl", re.IGNORECASE)

# First match wins. The more specific types stand before those whose letters they contain.
_PRECISIONS: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    (Precision.FP8, re.compile(r"fp8|e4m3|e5m2|qmma|_f8|float8", re.IGNORECASE)),
    (Precision.TF32, re.compile(r"tf32|s1688gemm(?!_fp16|_bf16)", re.IGNORECASE)),
    (Precision.BF16, re.compile(r"bf16|bfloat16|\bBBS_|_BBS", re.IGNORECASE)),
    (Precision.INT8, re.compile(r"int8|imma|i8816|_s8|\bI8II\b", re.IGNORECASE)),
    (
        Precision.FP16,
        re.compile(r"fp16|f16|half|h884|h1688|h16816|hgemm|s884|s16816|_HHS_|HBH", re.IGNORECASE),
    ),
    (Precision.FP64, re.compile(r"fp64|f64|double|dgemm|d884", re.IGNORECASE)),
    (
        Precision.FP32,
        re.compile(r"fp32|f32|float|sgemm|scudnn|_SB_|_SS_|cf32", re.IGNORECASE),
    ),
    (Precision.INT32, re.compile(r"int32|\bint\b|<int,|\blong\b", re.IGNORECASE)),
)

_TENSOR_CORE = re.compile(
    r"tensorop|[hsi]?(884|1688|16816|8816|16832)(gemm|cudnn|fprop|dgrad|wgrad)|hmma|imma|qmma|gmma"
    r"|wgmma|mfma|xmma|tf32|tensor_?core|_MI\d+x\d+",
    re.IGNORECASE,
)


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
    precision = next(
        (precision for precision, rule in _PRECISIONS if rule.search(name)), Precision.OTHER
    )
    return KernelClass(KernelCategory.COMPUTE, precision, bool(_TENSOR_CORE.search(name)))

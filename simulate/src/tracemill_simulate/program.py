"""The host calls and the GPU work of one training step, the same on every rank."""

from __future__ import annotations

from dataclasses import dataclass

US = 1_000

COMPUTE_STREAM, COPY_STREAM, COLLECTIVE_STREAM = 7, 20, 28
MAIN, AUTOGRAD = 0, 1
"""Threads: the training loop's, and the one that runs the backward pass."""


@dataclass(frozen=True)
class Launch:
    """A kernel as it is launched. ``shape``: grid, block, registers, static and dynamic shared."""

    name: str
    dur_ns: int
    shape: tuple[int, int, int, int, int, int, int, int, int]


_GEMM = Launch(
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_kernel",
    150 * US,
    (66, 2, 1, 384, 1, 1, 168, 0, 196_608),
)
_ATTENTION = Launch(
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>"
    "(Flash_fwd_params)",
    120 * US,
    (16, 8, 16, 128, 1, 1, 255, 0, 81_920),
)
_ATTENTION_BACKWARD = Launch(
    "void flash_bwd_dq_dk_dv_loop_kernel<Flash_bwd_kernel_traits<128, 64, 128, "
    "cutlass::bfloat16_t>>(Flash_bwd_params)",
    180 * US,
    (16, 8, 16, 256, 1, 1, 255, 0, 147_456),
)
_NORM = Launch(
    "void layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
    28 * US,
    (4096, 1, 1, 32, 4, 1, 32, 0, 24),
)
_ELEMENTWISE = Launch(
    "void vectorized_elementwise_kernel<4, gelu<c10::BFloat16>, array<char*, 2>>(int)",
    34 * US,
    (8192, 1, 1, 128, 1, 1, 24, 0, 0),
)
_ADAM = Launch(
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>"
    "(TensorListMetadata<4>)",
    60 * US,
    (320, 1, 1, 512, 1, 1, 40, 0, 0),
)
ALL_REDUCE = Launch(
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    0,
    (24, 1, 1, 544, 1, 1, 96, 0, 82_240),
)

_BLOCK = (_NORM, _GEMM, _ATTENTION, _GEMM, _ELEMENTWISE, _GEMM)
_BLOCK_BACKWARD = (_GEMM, _ELEMENTWISE, _GEMM, _ATTENTION_BACKWARD, _GEMM, _NORM)
_BLOCKS = 8
BUCKETS = 4
"""All-reduces of a step; each follows two blocks of the backward pass."""

FORWARD: tuple[Launch, ...] = _BLOCK * _BLOCKS
BACKWARD: tuple[Launch, ...] = _BLOCK_BACKWARD * (_BLOCKS * 2)
OPTIMIZER: tuple[Launch, ...] = (_ADAM,) * 12
COMPUTE: tuple[Launch, ...] = FORWARD + BACKWARD + OPTIMIZER
PER_BUCKET = len(BACKWARD) // BUCKETS

INPUT_BYTES = (6_291_456, 8_192)
"""Host-to-device copies at the beginning of a step: samples and labels."""
ZEROED_BYTES = 67_108_864
LOSS_BYTES = 4
KERNELS_PER_STEP = len(COMPUTE) + BUCKETS
LAUNCHES_PER_STEP = KERNELS_PER_STEP + len(INPUT_BYTES) + 2
"""Calls with GPU work: kernels, copies in, one memset, one copy out."""
CALLS_PER_STEP = LAUNCHES_PER_STEP + 2
"""Beside them a wait of one stream for another and one of the host for the previous step."""
RANGES = ("step", "DataLoader", "Forward", "Backward", "Optimizer")

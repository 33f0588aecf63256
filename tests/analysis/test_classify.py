"""Kernel names as found in real traces (shortened where only the tail is cut)."""

from __future__ import annotations

import pytest
from tracemill_analysis.classify import classify_kernel

AT = "void at::native::"

NAMES = [
    # NVIDIA GEMM and convolution libraries
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "FP16", True),
    ("ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn", "BF16", True),
    ("ampere_sgemm_128x64_tn", "FP32", False),
    ("volta_sgemm_64x32_sliced1x4_nn", "FP32", False),
    ("volta_dgemm_64x64_nn", "FP64", False),
    ("volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_tn", "FP16", True),
    ("volta_s884cudnn_fp16_256x64_ldg8_splitK_relu_f2f_exp_small_nhwc2nchw_tn_v1", "FP16", True),
    ("volta_h884gemm_64x64_ldg8_nn", "FP16", True),
    ("volta_scudnn_128x64_relu_interior_nn_v1", "FP32", False),
    ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "FP16", True),
    ("turing_h1688gemm_128x128_ldg8_stages_32x1_tn", "FP16", True),
    ("ampere_gcgemm_64x64_nt", "FP32", False),
    ("ampere_igemm_int8_128x128_ldg4_nn", "INT8", False),
    (
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>"
        "(cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4::Params)",
        "TF32",
        True,
    ),
    ("cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8", "FP16", True),
    ("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8", "BF16", True),
    ("cutlass_80_tensorop_d884gemm_64x64_16x4_tn_align1", "FP64", True),
    ("cutlass_80_simt_sgemm_128x64_8x5_nn_align1", "FP32", False),
    ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_execute_kernel", "FP32", False),
    (
        "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16"
        "_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn",
        "TF32",
        True,
    ),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"
        "_execute_segment_k_off_kernel__5x_cublas",
        "BF16",
        True,
    ),
    ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128", "FP8", True),
    ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", "FP16", True),
    ("nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNN", "BF16", True),
    # attention
    (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128,"
        " 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128,"
        " 4, cutlass::bfloat16_t> >, false, false>(pytorch_flash::Flash_fwd_params)",
        "BF16",
        True,
    ),
    ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", "FP16", True),
    ("fmha_cutlassF_f32_aligned_64x64_rf_sm50(PyTorchMemEffAttention::Params)", "FP32", False),
    ("attn_fwd", "other", False),
    # ROCm
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN", "BF16", True),
    ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", "BF16", True),
    ("Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE", "FP16", True),
    ("Cijk_Ailk_Bljk_SB_MT64x64x16_SE_K1", "FP32", False),
    ("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN", "FP32", True),
    ("Cijk_Ailk_Bljk_DB_MT64x64x8_MI16x16x4x1_SN", "FP64", True),
    ("Cijk_Alik_Bljk_I8II_BH_MT128x128x32_MI32x32x8x1_SE", "INT8", True),
    ("igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2", "BF16", True),
    ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0EEEvPT0_", "BF16", False),
    ("_ZN2ck16tensor_operation6device39kernel_grouped_conv_fwd_xdl_cshuffle_v3", "other", True),
    ("batched_transpose_32x32_half", "FP16", False),
    ("MIOpenBatchNormFwdTrainSpatial", "other", False),
    # PyTorch's own
    (
        AT + "vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,"
        " at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>)",
        "FP32",
        False,
    ),
    (
        AT + "elementwise_kernel<128, 4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16,"
        " c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(int)",
        "BF16",
        False,
    ),
    (
        AT
        + "vectorized_elementwise_kernel<4, at::native::batch_norm_calc_invstd(at::Tensor const&,"
        " at::Tensor const&, double)::{lambda()#1}::operator()() const::{lambda(float)#1},"
        " std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
        "FP32",
        False,
    ),
    (
        AT + "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(double)#1}(int)",
        "FP64",
        False,
    ),
    (AT + "vectorized_elementwise_kernel<4, FillFunctor<int> >(int)", "INT32", False),
    (AT + "vectorized_elementwise_kernel<4, FillFunctor<long> >(int)", "other", False),
    (AT + "CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 1>(int, float*)", "FP32", False),
    ("SubTensorOpWithScalar1d", "other", False),
    (AT + "reduceDimMaxKernel<float>(float*)", "FP32", False),
    (
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16,"
        " (vllm::Fp8KVCacheDataType)0>(__hip_bfloat16 const*, int)",
        "BF16",
        False,
    ),
    ("triton_poi_fused_add_cos_sin_0", "other", False),
    ("", "other", False),
]


@pytest.mark.parametrize(("name", "precision", "tensor_core"), NAMES)
def test_compute_kernels(name: str, precision: str, tensor_core: bool) -> None:
    found = classify_kernel(name)
    assert (found.category, found.precision, found.tensor_core) == (
        "compute",
        precision,
        tensor_core,
    )


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "rcclGenericKernel",
        "void NCCL_wrapper()",
    ],
)
def test_communication_kernels(name: str) -> None:
    found = classify_kernel(name)
    assert (found.category, found.precision, found.tensor_core) == ("communication", "other", False)

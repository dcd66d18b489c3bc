"""Number types and device functions that begin with nv: __nv_bfloat16, __nv_cvt_float_to_fp8, __nvvm_*, CUDA_R_16F, cuComplex."""

from torchada.porting.rules.library import Library

TYPES = Library(
    "number types and libdevice",
    names=(
        r"CUDA_[RC]_\w+",
        r"(?:make_)?cu(?:Float|Double)?Complex\w*",
        r"_{2,4}nv_\w+",
        r"__nvvm_\w+",
        r"CUDA_NO_(?:HALF|BFLOAT16)",
    ),
    spellings={"__nv_": "__mt_", "__nvvm_": "__mtvm_"},
    words={
        "nv_bfloat16": "__mt_bfloat16",
        "nv_bfloat162": "__mt_bfloat162",
        "__nv_half": "__half",
        "nv_half": "__half",
        "nv_half2": "mt_half2",
        "nv_weak": "mt_weak",
        "nvstd": "mtstd",
        "nvcuda": "mtmusa",
        "__NV_E4M3": "__MT_E4M3",
        "__NV_E5M2": "__MT_E5M2",
        "__NV_SATFINITE": "__MT_SATFINITE",
        "__NV_TEX_SPARSE": "__MT_TEX_SPARSE",
        "__nv_cvt_bfloat16raw_to_fp8": "__musa_cvt_bfloat16raw_to_fp8",
        "__nv_cvt_float2_to_fp8x2": "__musa_cvt_float2_to_fp8x2",
        "__nv_cvt_float_to_fp8": "__musa_cvt_float_to_fp8",
        "__nv_cvt_fp8_to_halfraw": "__musa_cvt_fp8_to_halfraw",
        "__nv_cvt_fp8x2_to_halfraw2": "__musa_cvt_fp8x2_to_halfraw2",
    },
    absent={
        r"CUDA_R_(?:4F|6F|8F_UE)\w*|__nv_fp[46]\w*|__nv_cvt_\w*fp[46]\w*|__NV_E2M[13]|__NV_E3M2|__nv_\w*e8m0\w*": (
            "number types of sm_100 (fp4, fp6, scale factors) have no counterpart"
        ),
    },
    headers={"nvfunctional": "mtfunctional", "crt/nvfunctional": "crt/mtfunctional"},
    header_names=(r"cuda_(?:bf16|fp16|fp8)\.hp?p?", r"cuComplex\.h"),
    absent_headers={r"cuda_fp[46]\.hp?p?": "number types of sm_100 have no counterpart"},
)

"""The CUDA driver API: cuLaunchKernel, CUstream, CU_STREAM_DEFAULT, CUDA_ERROR_UNKNOWN."""

from torchada.porting.rules.library import Library

_TENSOR_MAP = (
    "tensor maps serve the TMA of sm_90, which CUDA sources drive through PTX; MUSA's counterpart has another interface"
)
_NEWER = "newer than the CUDA that MUSA's driver follows (11.7)"

DRIVER = Library(
    "CUDA driver",
    names=(
        r"(?:PFN_)?cu[A-Z][A-Za-z0-9]\w*",
        r"cu64\w+",
        r"CU_\w+",
        r"CU[a-z]\w*",
        r"CUDA_(?:ARRAY|COOPERATIVE_LAUNCH|EGL|ERROR|EXTERNAL|EXT_SEM)\w*|CUDA_[A-Z_]+_NODE_PARAMS\w*|CUDA_CB|CUDA_SUCCESS",
        r"CUDA_(?:LAUNCH_PARAMS|MEMCPY[23]D|NVSCISYNC|POINTER_ATTRIBUTE|RESOURCE|TEXTURE_DESC)\w*",
        r"CUDAAPI|CUDA(?:EGL|GL|PROFILER|VDPAU)?TYPEDEFS_H|CUDA(?:EGL|GL|VDPAU)_H",
    ),
    words={
        "CUGLDeviceList": "MUGLDeviceList",
        "CUGLDeviceList_enum": "MUGLDeviceList_enum",
        "CUGLmap_flags": "MUGLmap_flags",
        "CUGLmap_flags_enum": "MUGLmap_flags_enum",
        "CUGPUDirectRDMAWritesOrdering": "MUGPUDirectRDMAWritesOrdering",
        "CUGPUDirectRDMAWritesOrdering_enum": "MUGPUDirectRDMAWritesOrdering_enum",
        # As ggml asks on hardware.
        "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": (
            "MU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED"
        ),
        "CU_JIT_INPUT_CUBIN": "MU_JIT_INPUT_MUBIN",
        "CU_JIT_INPUT_NVVM": "MU_JIT_INPUT_MTVM",
        "CU_JIT_TARGET_FROM_CUCONTEXT": "MU_JIT_TARGET_FROM_MUCONTEXT",
        "cuuint32_t": "muuint32_t",
        "cuuint64_t": "muuint64_t",
    },
    absent={
        r"cuTensorMap\w*|CUtensorMap\w*|CU_TENSOR_MAP\w*|PFN_cuTensorMap\w*": _TENSOR_MAP,
        r"cuMulticast\w*|CUmulticast\w*|CU_MULTICAST\w*|CU_DEVICE_ATTRIBUTE_MULTICAST\w*": "NVSwitch multicast has no counterpart",
        r"cuLibrary[A-Z]\w*|CUlibrary\w*|CUkernel|cuKernel[A-Z]\w*|cuGreenCtx\w*|CUgreenCtx\w*|CUdevResource\w*": _NEWER,
        r"CU_LAUNCH_ATTRIBUTE_(?:CLUSTER|PROGRAMMATIC)\w*|CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH": (
            "thread block clusters and programmatic launches came with sm_90; MUSA is not known to have them"
        ),
    },
    # CUTE_, CUB_ and the like are other libraries' and begin otherwise; CUpti belongs to CUPTI.
    is_closed=True,
)

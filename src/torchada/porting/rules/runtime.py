"""The CUDA runtime: cudaMalloc, __cudaRegisterFunction, CUDART_PI."""

from torchada.porting.rules.library import Library

HOPPER = "thread block clusters and programmatic launches came with sm_90; MUSA is not known to have them"
# Calls that become nothing (by_context.py); elsewhere their names have no counterpart.
DEPENDENCIES = ("cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion")
_NEWER = "newer than the CUDA that MUSA's runtime follows (11.7)"

RUNTIME = Library(
    "CUDA runtime",
    names=(
        r"_{0,4}cuda[A-Z]\w*",
        r"__cuda_(?:INT_MAX|builtin_\w+|tex|\w+_h__)",
        r"__ignored_cuda_\w+",
        r"__clang_cuda_\w+",
        r"[np]Cuda(?:Dev|Res)\w*",
        r"make_cuda(?:Extent|PitchedPtr|Pos)",
        r"(?:CR_|_*)CUDART_\w+|CUDARTAPI\w*",
        r"__cudart_builtin__",
        r"cuda_profiler_H",
        r"nvSci[A-Z]\w*",
    ),
    spellings={
        "cudart": "musart",
        "CUDART": "MUSART",
        "cuda": "musa",
        "CUDA": "MUSA",
        "Cuda": "Musa",
        "NvSci": "MtSci",
        "nvSci": "mtSci",
        "NVSCI": "MTSCI",
        "NvLink": "MtLink",
        "NVLINK": "MTLINK",
        "Cubin": "Mubin",
        "cubin": "mubin",
    },
    words={
        "cudaErrorNvlinkUncorrectable": "musaErrorMtlinkUncorrectable",
        "__cudaRegisterLinkedBinary__NV_MODULE_ID": "__musaRegisterLinkedBinary__MT_MODULE_ID",
        "cudaLaunchAttributeProgrammaticStreamSerialization": "musaLaunchAttributeIgnore",
        # No table has these. Programs that run on MUSA use them: kineto (PyTorch's profiler), ggml, a port of TransformerEngine.
        "cudaLaunchAttributeCooperative": "musaLaunchAttributeCooperative",
        "cudaLaunchAttributeClusterDimension": "musaLaunchAttributeClusterDimension",
        "cudaLaunchKernelEx": "musaLaunchKernelEx",
        "cudaLaunchKernelExC": "musaLaunchKernelExC",
        "cudaStreamFireAndForget": "musaStreamFireAndForget",
    },
    absent={
        "|".join(DEPENDENCIES): HOPPER,
        r"cudaLaunchAttribute(?:Cluster(?!Dimension$)|Programmatic(?!StreamSerialization$))\w*": HOPPER,
        r"cudaLaunchAttribute(?:Preferred|MemSync|LaunchCompletion)\w*": HOPPER,
        r"cudaFuncAttribute(?:NonPortable)?Cluster\w*|cudaOccupancyMax(?:Potential|Active)Clusters?\w*": HOPPER,
        r"cudaDevAttrClusterLaunch|cudaFuncAttributeRequiredCluster\w*": HOPPER,
        r"cudaGraphConditional\w*|cudaGraphCondType\w*|cudaStreamBeginCaptureToGraph": _NEWER,
        r"cudaLibrary[A-Z]\w*|cudaLibrary_t|cudaKernel_t|cudaGetKernel|cudaGetDriverEntryPointByVersion": _NEWER,
        r"cudaMemcpy(?:3D)?Batch\w*|cudaMemDiscard\w*|cudaLogs\w*|cudaDevResource\w*|cudaGreenCtx\w*": _NEWER,
    },
    header_names=(
        r"cuda(?:|_runtime|_runtime_api|_device_runtime_api|_awbarrier\w*|_egl_interop|_gl_interop|_occupancy|_pipeline\w*"
        r"|_profiler_api|_stdint|_surface_types|_texture_types|_vdpau_interop|EGL\w*|GL\w*|Profiler\w*|Typedefs|VDPAU\w*"
        r"|libxt|rt_platform)\.h",
        r"generated_cuda\w*_meta\.h",
    ),
    is_closed=True,
)

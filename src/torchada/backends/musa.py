"""Moore Threads GPUs through torch_musa."""

from __future__ import annotations

from torchada.backends.descriptor import (
    Allocator,
    Backend,
    Build,
    Collectives,
    CollectiveVariables,
    Compiler,
    Graphs,
    Management,
    Names,
    Native,
    NativeLibrary,
    RuntimeVariables,
    Toolkit,
)

# Left out: the driver, libcuda, because numba, Triton and others take its presence for an NVIDIA GPU and generate code for one;
# cuDNN (muDNN's API is C++, without functions to look up), NVML (MTML's functions take other arguments), NVTX and NPP.
_LIBRARIES = {
    "cudart": NativeLibrary(
        "musart",
        {"cuda": "musa", "__cuda": "__musa"},
        renames={"cudaDeviceGetNvSciSyncAttributes": "musaDeviceGetMtSciSyncAttributes"},
    ),
    "nccl": NativeLibrary("mccl", {"nccl": "mccl"}),
    # muBLAS has one version of each function: mublasSgemm for cublasSgemm_v2.
    "cublas": NativeLibrary(
        "mublas",
        {"cublas": "mublas"},
        renames={"cublasGetCudartVersion": "mublasGetMusartVersion"},
        optional_suffix="_v2",
    ),
    "cublasLt": NativeLibrary(
        "mublasLt", {"cublasLt": "mublasLt"}, renames={"cublasLtGetCudartVersion": "mublasLtGetMusartVersion"}
    ),
    "cufft": NativeLibrary("mufft", {"cufft": "mufft"}),
    "cupti": NativeLibrary("mupti", {"cupti": "mupti"}, renames={"cuptiGetCubinCrc": "muptiGetMubinCrc"}),
    "curand": NativeLibrary("murand", {"curand": "murand"}),
    "cusolver": NativeLibrary("musolver", {"cusolver": "musolver"}),
    "cusparse": NativeLibrary("musparse", {"cusparse": "musparse"}),
    "nvjpeg": NativeLibrary("mtjpeg", {"nvjpeg": "mtjpeg"}),
    "nvrtc": NativeLibrary("mtrtc", {"nvrtc": "mtrtc"}),
}

# The process group reads the variables that torch_musa 2.7.1 lists. The library's own variables are NCCL's under its own name, as
# Moore Threads' training scripts set them; it reads algorithms and protocols as numbers (MCCL_ALGOS, MCCL_PROTOS), and has no
# counterpart for variables about NVIDIA's links and memory.
_COLLECTIVE_VARIABLES = CollectiveVariables(
    prefixes={"TORCH_NCCL_": "TORCH_MCCL_", "NCCL_": "MCCL_"},
    renames={
        "TORCH_NCCL_CUDA_EVENT_CACHE": "TORCH_MCCL_MUSA_EVENT_CACHE",
        "TORCH_NCCL_RETHROW_CUDA_ERRORS": "TORCH_MCCL_RETHROW_MUSA_ERRORS",
    },
    known={
        "TORCH_NCCL_": frozenset(
            (
                "ASYNC_ERROR_HANDLING",
                "AVOID_RECORD_STREAMS",
                "BLOCKING_WAIT",
                "COORD_CHECK_MILSEC",
                "DEBUG_INFO_PIPE_FILE",
                "DEBUG_INFO_TEMP_FILE",
                "DESYNC_DEBUG",
                "DUMP_ON_TIMEOUT",
                "ENABLE_MONITORING",
                "ENABLE_TIMING",
                "HEARTBEAT_TIMEOUT_SEC",
                "HIGH_PRIORITY",
                "LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN",
                "NAN_CHECK",
                "PROPAGATE_ERROR",
                "RANKS_PER_ROOT",
                "TRACE_BUFFER_SIZE",
                "TRACE_CPP_STACK",
                "WAIT_TIMEOUT_DUMP_MILSEC",
            )
        )
    },
    absent=("NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS", "NCCL_CUMEM", "NCCL_MNNVL", "NCCL_CGA", "NCCL_CTA", "NCCL_WIN_"),
    ignored=("NCCL_VERSION", "NCCL_HOME", "NCCL_ROOT", "NCCL_INCLUDE", "NCCL_LIB"),
)

_NAMES = Names(
    # torch_musa 2.7.1; see docs/reference/compatibility.md for the names that exist on one side only.
    renames={
        "CUDAGraph": "MUSAGraph",
        "CUDAPluggableAllocator": "MUSAPluggableAllocator",
        "CudaError": "MusaError",
        "DeferredCudaCallError": "core._lazy_init.DeferredMusaCallError",
        "cudart": "musart",
        "nccl": "mccl",
    },
    dnn="mudnn",
    vendor="MooreThreads",
)

_NATIVE = Native(
    module="_MUSAC",
    spellings={"musa": "cuda", "Musa": "Cuda", "MUSA": "CUDA", "Mublas": "Cublas", "mccl": "nccl"},
    libraries=_LIBRARIES,
)

_BUILD = Build(
    module="torch_musa.utils.musa_extension",
    home="MUSA_HOME",
    keyword="musa",
    libraries=("musa_python", "musa_kernels"),
    toolkit=Toolkit(
        variables=("MUSA_HOME", "MUSA_PATH"),
        usual_home="/usr/local/musa",
        runtime="musart",
        lister="musaInfo",
        dnn_variables=("MUDNN_HOME", "MUDNN_PATH"),
    ),
    compiler=Compiler(
        program="mcc",
        variable="PYTORCH_MCC",
        language="musa",
        suffix=".mu",
        arch_flag="--offload-arch=mp_{}",
        arch_variable="TORCH_MUSA_ARCH_LIST",
        target_variable="MTGPU_TARGET",
    ),
)

# As torch_musa 2.7.1, 2.9.1 and 2.11.0.post2 parse them, which all list a backend musaMallocAsync. The first two refuse it, and the
# third does with SDKs before 5.1. Since 2.11.0 torch parses what every accelerator has, so those options are torch 2.11's.
_ALLOCATOR = Allocator(
    name="torch_musa",
    variable="PYTORCH_MUSA_ALLOC_CONF",
    options={
        "backend": ("native", "unified"),
        "expandable_segments": (),
        "garbage_collection_threshold": (),
        "graph_capture_record_stream_reuse": (),
        "large_segment_size_mb": (),
        "max_non_split_rounding_mb": (),
        "max_split_size_mb": (),
        "per_process_memory_fraction": (),
        "pinned_num_register_threads": (),
        "pinned_reserve_segment_size_mb": (),
        "pinned_use_background_threads": (),
        "pinned_use_musa_host_register": (),
        "release_lock_on_musamalloc": (),
        "roundup_power2_divisions": (),
    },
    since={
        "graph_capture_record_stream_reuse": "2.9.1",
        "large_segment_size_mb": "2.11.0",
        "max_non_split_rounding_mb": "2.9.1",
        "per_process_memory_fraction": "2.11.0",
        "pinned_reserve_segment_size_mb": "2.11.0",
    },
    renames={
        "pinned_use_cuda_host_register": "pinned_use_musa_host_register",
        "release_lock_on_cudamalloc": "release_lock_on_musamalloc",
    },
)

# The driver's and muBLAS's own, as Moore Threads' scripts set them, and those that torch_musa 2.7.1 reads. TORCH_CUDA_ARCH_LIST is
# not among them: its numbers are NVIDIA's, and a build asks the device.
_VARIABLES = RuntimeVariables(
    renames={
        "CUBLAS_WORKSPACE_CONFIG": "MUBLAS_WORKSPACE_CONFIG",
        "CUDA_DEVICE_MAX_CONNECTIONS": "MUSA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_ORDER": "MUSA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING": "MUSA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING": "MUSA_MODULE_LOADING",
        "PYTORCH_CUDA_DSA_STACKTRACING": "PYTORCH_MUSA_DSA_STACKTRACING",
        "PYTORCH_NO_CUDA_MEMORY_CACHING": "PYTORCH_NO_MUSA_MEMORY_CACHING",
        "PYTORCH_USE_CUDA_DSA": "PYTORCH_USE_MUSA_DSA",
    },
    absent=("CUBLASLT_WORKSPACE_SIZE", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NVIDIA_TF32_OVERRIDE"),
)

# The members of MUSAGraph are in areas/cuda/_graph_layouts.py.
_GRAPHS = Graphs(
    executables=2048,
    simulated_limit="MUSASIM_GRAPH_EXECUTABLES",
    trees="torch_musa._inductor.musagraph_trees",
    holds_handles=True,
    keep_pools=True,
)

MUSA = Backend(
    name="musa",
    device_type="musa",
    adapter="torch_musa",
    namespace="musa",
    visible_devices="MUSA_VISIBLE_DEVICES",
    names=_NAMES,
    native=_NATIVE,
    collectives=Collectives(names={"nccl": "mccl"}, variables=_COLLECTIVE_VARIABLES),
    graphs=_GRAPHS,
    build=_BUILD,
    management=Management(
        "pymtml", "mthreads-ml-py", command="mthreads-gmi", library=("libmtml.so.2", "libmtml.so"), prefix="mtml"
    ),
    allocator=_ALLOCATOR,
    variables=_VARIABLES,
    simulator="musasim",
)

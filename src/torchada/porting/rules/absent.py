"""Libraries of NVIDIA's that Moore Threads has no counterpart of, or none whose names are known."""

from torchada.porting.rules.library import Library

_TENSORRT, _NVSHMEM, _NVML = "TensorRT", "NVSHMEM", "NVML; Moore Threads' MTML has functions of its own"
_WHY = "{} has no counterpart by names"
# Its functions by what they begin with: a project's own names may begin with nvshmem_ too (nvshmem_status, nvshmem_enabled).
_NVSHMEM_NAMES = (
    r"nvshmemx?_(?:init|finalize|hostlib_|global_exit|info_|vendor_|query_|uniqueid|set_attr_|get_|collective_launch|cu(?:module|library)_"
    r"|my_pe|n_pes|pe_|ptr|mc_ptr|malloc|calloc|align|free|buffer_|team_|barrier|sync|quiet|fence|signal|wait|test|put|get|iput|iget"
    r"|(?:broadcast|collect|fcollect|alltoall|reduce)mem"
    r"|[us]?(?:float|double|char|short|int\d*|long|longlong|size|ptrdiff|half|bfloat16)_)\w*"
)

ABSENT = Library(
    "libraries without a counterpart",
    absent={
        r"nvinfer1": _WHY.format(_TENSORRT),
        _NVSHMEM_NAMES + r"|NVSHMEMX?_\w+": _WHY.format(_NVSHMEM),
        r"nvml[A-Z]\w*|NVML_\w+": _WHY.format(_NVML),
        r"nvJitLink\w+|nvPTX\w+|nvvm[A-Z]\w*|NVVM_\w+": _WHY.format("NVIDIA's linker of device code"),
    },
    absent_headers={
        r"NvInfer\w*\.h": _WHY.format(_TENSORRT),
        r"nvshmemx?\.h": _WHY.format(_NVSHMEM),
        r"nvml\.h": _WHY.format(_NVML),
        r"nvJitLink\.h|nvPTXCompiler\.h|nvvm\.h": _WHY.format("NVIDIA's linker of device code"),
    },
)

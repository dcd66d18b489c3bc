"""Libraries of NVIDIA's that Moore Threads has no counterpart of, or none whose names are known."""

from torchada.porting.rules.library import Library

_TENSORRT, _NVSHMEM, _NVML = "TensorRT", "NVSHMEM", "NVML; Moore Threads' MTML has functions of its own"
_WHY = "{} has no counterpart by names"

ABSENT = Library(
    "libraries without a counterpart",
    absent={
        r"nvinfer1": _WHY.format(_TENSORRT),
        r"nvshmemx?_\w+|NVSHMEMX?_\w+": _WHY.format(_NVSHMEM),
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

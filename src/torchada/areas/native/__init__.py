"""Native code: CUDA's C libraries opened by name, the runtime's binding, and C++ and CUDA extensions that are built."""

AREAS = {
    "torch": ("runtime", "cdll", "build_version"),
    "ctypes.util": ("find_library",),
    "torch.utils.cpp_extension": ("cpp_extension",),
}

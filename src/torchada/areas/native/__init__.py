"""Native code: CUDA's C libraries opened by name, the binding of the runtime, and building C++ and CUDA extensions."""

AREAS = {
    "torch": ("runtime", "cdll", "version"),
    "ctypes.util": ("find_library",),
    "torch.utils.cpp_extension": ("cpp_extension",),
}

"""What means CUDA to PyTorch's dispatcher, after `DispatchKey::`, `DeviceType::`, `Backend::` or in TORCH_LIBRARY_IMPL."""

DISPATCH_KEYS = {
    "CUDA": "PrivateUse1",
    "AutogradCUDA": "AutogradPrivateUse1",
    "AutocastCUDA": "AutocastPrivateUse1",
    "SparseCUDA": "SparsePrivateUse1",
    "SparseCsrCUDA": "SparseCsrPrivateUse1",
    "QuantizedCUDA": "QuantizedPrivateUse1",
    "NestedTensorCUDA": "NestedTensorPrivateUse1",
}
# With the short name that C++ has for AutocastCUDA, and Python has not.
DISPATCH_NAMES = {**DISPATCH_KEYS, "Autocast": DISPATCH_KEYS["AutocastCUDA"]}

# Functions of ATen/autocast_mode.h that take the device last, and CUDA where a call leaves it out; with how many come before it.
AUTOCAST_ARGUMENTS = {"cached_cast": 2, "is_eligible": 1, "prioritize": 2}
# Functions there that are CUDA's without saying so, and those that take a device first.
AUTOCAST_OF_CUDA = {
    "is_enabled": "is_autocast_enabled",
    "set_enabled": "set_autocast_enabled",
    "get_autocast_gpu_dtype": "get_autocast_dtype",
    "set_autocast_gpu_dtype": "set_autocast_dtype",
}
AUTOCAST_WORDS = tuple(f"autocast::{name}" for name in (*AUTOCAST_ARGUMENTS, *AUTOCAST_OF_CUDA))

# Macros whose first argument is a name that Python sees.
NAMING_MACROS = (
    "PYBIND11_MODULE",
    "PYBIND11_EMBEDDED_MODULE",
    "NB_MODULE",
    "TORCH_LIBRARY",
    "TORCH_LIBRARY_FRAGMENT",
    "TORCH_LIBRARY_IMPL",
    "STABLE_TORCH_LIBRARY",
    "STABLE_TORCH_LIBRARY_FRAGMENT",
    "STABLE_TORCH_LIBRARY_IMPL",
    "TVM_FFI_DLL_EXPORT_TYPED_FUNC",
)

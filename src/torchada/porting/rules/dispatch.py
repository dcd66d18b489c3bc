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

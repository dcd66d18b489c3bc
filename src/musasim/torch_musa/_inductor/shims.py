"""The C functions by which a library of AOTInductor calls operators on the device: aoti_torch_musa_addmm_out and its like.

torch_musa generates them when it is built, as PyTorch does its own, and has them in libmusa_python.so. Here they are compiled when
a library is first built or loaded, because few programs do either. PyTorch's header of CUDA's says which there are, and the
operator's schema what each argument means.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from musasim.base import cache
from musasim.base.toolchain import find_compiler, find_torch, torch_extension
from musasim.errors import MusasimBuildError

__all__ = ["LIBRARY", "folder", "load"]

LIBRARY = "libmusa_aoti_shims.so"
_HEADER = "torch/csrc/inductor/aoti_torch/generated/c_shim_cuda.h"
_DECLARATION = re.compile(r"^AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cuda_(\w+)\((.*)\);", re.MULTILINE)
_VERSION = re.compile(r"_v\d+$")
_BEGINNING = """\
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

using c10::IValue;
using namespace torch::aot_inductor;

namespace {

at::Tensor tensor_of(AtenTensorHandle handle) {
  return *tensor_handle_to_tensor_pointer(handle);
}

std::optional<at::Tensor> optional_tensor_of(const AtenTensorHandle* handle) {
  return handle != nullptr ? std::optional<at::Tensor>(tensor_of(*handle)) : std::nullopt;
}

template <typename Member, typename Given>
IValue list_of(const Given* members, int64_t count) {
  c10::List<Member> made;
  for (int64_t at = 0; at < count; ++at) {
    made.push_back(static_cast<Member>(members[at]));
  }
  return made;
}

IValue tensors_of(const AtenTensorHandle* handles, int64_t count) {
  c10::List<at::Tensor> made;
  for (int64_t at = 0; at < count; ++at) {
    made.push_back(tensor_of(handles[at]));
  }
  return made;
}

IValue optional_tensors_of(const AtenTensorHandle* const* handles, int64_t count) {
  c10::List<std::optional<at::Tensor>> made;
  for (int64_t at = 0; at < count; ++at) {
    made.push_back(optional_tensor_of(handles[at]));
  }
  return made;
}

c10::Device device_of(int32_t type, int32_t index) {
  return c10::Device(static_cast<c10::DeviceType>(type), static_cast<c10::DeviceIndex>(index));
}

std::vector<IValue> called(const char* name, const char* overload, std::vector<IValue> stack) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(stack);
  return stack;
}

} // namespace

"""
# By the type of an argument: the expression of its value, where {0} is what the C function gets, and {1} its second part.
_VALUES = {
    "Tensor": "tensor_of({0})",
    "Optional[Tensor]": "optional_tensor_of({0})",
    "List[Tensor]": "tensors_of({0}, {1})",
    "List[Optional[Tensor]]": "optional_tensors_of({0}, {1})",
    "number": "c10::Scalar({0})",
    "int": "static_cast<int64_t>({0})",
    "float": "static_cast<double>({0})",
    "bool": "({0} != 0)",
    "str": "std::string({0})",
    "Device": "device_of({0}, {1})",
    "Generator": "*generator_handle_to_generator_pointer({0})",
    "List[int]": "list_of<int64_t>({0}, {1})",
    "List[float]": "list_of<double>({0}, {1})",
    "List[bool]": "list_of<bool>({0}, {1})",
}
_RESULTS = {
    "Tensor": "new_tensor_handle(std::move(results[{0}]).toTensor())",
    "int": "results[{0}].toInt()",
    "bool": "results[{0}].toBool()",
    "float": "results[{0}].toDouble()",
    "number": "results[{0}].toScalar().toDouble()",
}


def folder() -> Path:
    """The folder of the library, which is compiled first if necessary."""
    text = _source()
    here = Path(__file__)
    digest = hashlib.sha256(text.encode() + here.read_bytes()).hexdigest()[:16]
    return cache.stored(f"aoti-{find_torch().version}-{digest}", functools.partial(_compile, text))


@functools.cache
def load() -> None:
    """Load the library, so that the dynamic linker finds it by its name when it loads one that was linked against it."""
    ctypes.CDLL(str(folder() / LIBRARY), mode=ctypes.RTLD_GLOBAL)


def _compile(text: str, workspace: Path) -> None:
    torchs = find_torch()
    source = workspace / "shims.cpp"
    source.write_text(text, encoding="utf-8")
    described = torch_extension(torchs, LIBRARY, [source], [], [])
    options = ["-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", "-shared", f"-Wl,-soname,{LIBRARY}"]
    command = [
        *find_compiler(),
        *options,
        *described.flags,
        str(source),
        "-o",
        str(workspace / LIBRARY),
        *described.link,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    source.unlink()
    if done.returncode != 0:
        raise MusasimBuildError(
            f"musasim: compiling for AOTInductor failed.\n{shlex.join(command)}\n{done.stderr.rstrip()}"
        )


def _source() -> str:
    header = (find_torch().folder / "include" / _HEADER).read_text(encoding="utf-8")
    operators = dict(_operators())
    definitions = []
    for name, parameters in _DECLARATION.findall(header):
        operator = operators.get(name) or operators.get(_VERSION.sub("", name))
        if operator is not None:
            definitions.append(_definition(name, parameters, *operator))
    return _BEGINNING + "\n".join(filter(None, definitions))


def _operators() -> Iterator[tuple[str, tuple[str, str]]]:
    """How PyTorch names the function of an operator, and the operator with its overload."""
    for name in sorted(import_module("torchgen.aoti.fallback_ops").inductor_fallback_ops):
        namespace, base, overload = name.split(".")
        suffix = "" if overload == "default" else f"_{overload}"
        yield base + suffix, (f"{namespace}::{base}", "" if overload == "default" else overload)


def _definition(name: str, parameters: str, operator: str, overload: str) -> str | None:
    """One function, or None where this PyTorch has no such operator, or one with an argument of another kind."""
    try:
        schema: Any = torch._C._get_schema(operator, overload)
    except RuntimeError:
        return None
    given = {parameter.split()[-1]: parameter for parameter in parameters.split(", ")}
    try:
        values = ", ".join(_value(argument, given) for argument in schema.arguments)
        results = "".join(_result(at, value, given) for at, value in enumerate(schema.returns))
    except KeyError:
        return None
    return (
        f'extern "C" AOTI_TORCH_EXPORT AOTITorchError aoti_torch_musa_{name}({parameters}) {{\n'
        "  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({\n"
        f'    auto results = called("{operator}", "{overload}", std::vector<IValue>{{{values}}});\n'
        f"{results}  }})\n}}\n"
    )


def _value(argument: Any, given: Mapping[str, str]) -> str:
    """The expression of one argument of the operator. An older version of the function lacks those that were added."""
    name, kind = argument.name, str(argument.type)
    if name not in given:
        return _default(argument)
    second = next((name + ending for ending in ("_len_", "_index_") if name + ending in given), "")
    optional = re.fullmatch(r"Optional\[(.+)\]", kind)
    if optional is None or kind in _VALUES:
        return f"IValue({_VALUES[kind].format(name, second)})"
    return f"({name} != nullptr ? IValue({_VALUES[optional[1]].format(f'(*{name})', second)}) : IValue())"


def _default(argument: Any) -> str:
    value = argument.default_value
    if value is None:
        return "IValue()"
    return (
        f"IValue({str(value).lower() if isinstance(value, bool) else f'static_cast<{_C_TYPES[type(value)]}>({value})'})"
    )


_C_TYPES = {int: "int64_t", float: "double"}


def _result(at: int, value: Any, given: Mapping[str, str]) -> str:
    if f"ret{at}" not in given:  # `out`, which the caller has
        return ""
    return f"    if (ret{at} != nullptr) *ret{at} = {_RESULTS[str(value.type)].format(at)};\n"

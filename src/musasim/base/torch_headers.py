"""PyTorch's CUDA headers with MUSA's names in place of CUDA's, as torch_musa's own build makes them from the sources of PyTorch.

Every wheel of PyTorch contains these headers, even one for the CPU. Headers that torch_musa writes by hand (torch_musa/csrc) are
in the simulated package. Where a header includes one that torch_musa has written anew, it includes that one, as after its build.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from musasim.base import cache
from musasim.base.toolchain import find_torch

_TORCH_MUSA = Path(__file__).parents[1] / "torch_musa"
_BY_HAND = _TORCH_MUSA / "share" / "generated_cuda_compatible" / "include"
_CSRC = _TORCH_MUSA / "csrc"
_PLACE = Path("torch_musa") / "share" / "generated_cuda_compatible" / "include"
_FOLDERS = ("ATen/cuda", "ATen/native/cuda", "c10/cuda")
# What the folders' headers include, and what includes the first of these.
_FILES = ("ATen/detail/CUDAHooksInterface.h", "ATen/Context.h", "ATen/native/ConvUtils.h")
# Headers in every build that offer kernels more than host code: C10_LAUNCH_BOUNDS, __half for c10::Half, RestrictPtrTraits. The
# folder of some of them depends on the release of PyTorch.
_FOR_KERNELS = (
    "ATen/AccumulateType.h",
    "ATen/core/TensorAccessor.h",
    "c10/macros/Macros.h",
    "c10/util/BFloat16-inl.h",
    "c10/util/BFloat16.h",
    "c10/util/Half-inl.h",
    "c10/util/Half.h",
    "torch/headeronly/core/TensorAccessor.h",
    "torch/headeronly/macros/Macros.h",
    "torch/headeronly/util/BFloat16.h",
    "torch/headeronly/util/Half.h",
)
_SUFFIXES = {".h": ".h", ".hpp": ".hpp", ".cuh": ".muh"}

# The tool renames the words of its tables and leaves all others, so that most of PyTorch's own names keep CUDA's spelling:
# CUDA_KERNEL_LOOP, getCudaDataType, CUDAEvent, at_cuda_detail. Its tables have the names of the toolkit, and these of PyTorch.
_TOOLKIT = re.compile(
    r"cuda|cuda[A-Z]\w*|CUDA_[CR]_\d+[BFIU]\w*|CUDA_(?:SUCCESS|ERROR_\w+)|CUDART_\w+|__CUDA\w*__"
    r"|cublas[A-Z]\w*|CUBLAS_(?!WORKSPACE)\w+|cusparse[A-Z]\w*|CUSPARSE_\w+(?<!_ARGTYPES)|cusolver(?!GetErrorMessage)[A-Z]\w*|CUSOLVER_\w+"
    r"|cufft[A-Z]\w*|CUFFT_(?!CHECK|MAX_PLAN_NUM|DEFAULT_CACHE_SIZE)\w+|curand\w*|CURAND_\w+|__nv_bfloat162?"
    r"|CU[a-z]\w*|cu(?:DeviceGet|GetError|Mem|Stream)[A-Za-z]\w*(?<!_)"
)
_OF_PYTORCH = re.compile(
    r"AT_CUDA_CHECK|TORCH_CUDABLAS_CHECK|TORCH_CUSOLVER_CHECK|C10_CUDA_(?:API|CHECK|EXPORT|IMPORT|BUILD_SHARED_LIBS)"
    r"|C10_CUDA_(?:ERROR_HANDLED|IGNORE_ERROR|KERNEL_LAUNCH_CHECK)|c10_cuda_check_implementation|CUDABLAS_BGEMM_ARGTYPES"
    r"|CUDA(?:CachingAllocator|GeneratorImpl|Guard|Stream)|OptionalCUDA(?:Stream)?Guard|PhiloxCudaState|philox_cuda_state"
    r"|(?:get(?:Current|Default)|setCurrent)CUDAStream|getDefaultCUDAGenerator|getCUDADeviceAllocator|empty_cuda"
)
_WORDS = {
    "C10_CUDA_BUILD_MAIN_LIB": "C10_MUSA_BUILD_MAUN_LIB",
    "C10_CUDA_CHECK_WARN": "TORCH_MUSA_WARN",
    "CUDA_VERSION": "MUSA_COMP_VERSION",
    "curandStatePhilox4_32_10_t": "murand_state_philox4x32_10",
}
# Where the tool looks at more than a word.
_IN_CONTEXT = (
    (re.compile(r"(?<!case )(?<!case c10::)DeviceType::CUDA\b"), "DeviceType::PrivateUse1"),
    (re.compile(r"\.is_cuda\(\)"), ".is_privateuseone()"),
    (re.compile(r"\bDevice\(kCUDA, current_device\(\)\)"), "Device(kMUSA, current_device())"),
    (re.compile(r"\bimpl::CUDAGuardImpl\b"), "impl::MUSAGuardImpl"),
)
# Headers that torch_musa has written anew have MUSA's names throughout; these are the exceptions to that.
_ANEW = {
    "CUDA": "PrivateUse1",
    "kCUDA": "kPrivateUse1",
    "is_cuda": "is_privateuseone",
    "TORCH_CUDA_CPP_API": "TORCH_CUDA_CPP_API",
    "TORCH_CUDA_CU_API": "TORCH_CUDA_CU_API",
    "CUDA_KERNEL_ASSERT": "CUDA_KERNEL_ASSERT",
    "CUDA_KERNEL_ASSERT_MSG": "CUDA_KERNEL_ASSERT_MSG",
    "CUDA_KERNEL_ASSERT_PRINTF": "CUDA_KERNEL_ASSERT_PRINTF",
    "nv_bfloat16": "__mt_bfloat16",
    "nv_bfloat162": "__mt_bfloat162",
}
_IN_INCLUDES = {"cublas_v2": "mublas", "curand_philox4x32_x": "murand_philox4x32_10"}
_SPELLINGS = {
    "CUDA": "MUSA",
    "Cuda": "Musa",
    "cuda": "musa",
    **{f"cu{name}": f"mu{name}" for name in ("blas", "sparse", "solver", "fft", "rand", "dnn")},
    **{f"CU{name}": f"MU{name}" for name in ("BLAS", "SPARSE", "SOLVER", "FFT", "RAND", "DNN")},
    "nccl": "mccl",
    "NVRTC": "MTRTC",
    "nvrtc": "mtrtc",
    "__nv_": "__mt_",
}
# Headers that torch_musa writes itself, which take the place of the generated ones wherever those are included.
_OWN = {
    "ATen/musa/MUSABlas.h": "aten/musa/MUSABlas.h",
    "ATen/musa/MUSAContext.h": "aten/musa/MUSAContext.h",
    "ATen/musa/MUSAContextLight.h": "aten/musa/MUSAContextLight.h",
    "ATen/musa/MUSADevice.h": "core/Device.h",
    "ATen/musa/Exceptions.h": "aten/musa/Exceptions.h",
    "ATen/musa/MUSAGeneratorImpl.h": "aten/musa/MUSAGeneratorImpl.h",
    "ATen/musa/CachingHostAllocator.h": "core/CachingHostAllocator.h",
    "ATen/musa/PinnedMemoryAllocator.h": "core/PinnedMemoryAllocator.h",
    "ATen/musa/detail/PhiloxMusaStateRaw.muh": "aten/musa/PhiloxMusaStateRaw.muh",
    "ATen/musa/detail/UnpackRaw.muh": "aten/musa/UnpackRaw.muh",
    "c10/musa/MUSACachingAllocator.h": "core/MUSACachingAllocator.h",
    "c10/musa/MUSADeviceAssertionHost.h": "core/MUSADeviceAssertionHost.h",
    "c10/musa/MUSAException.h": "core/MUSAException.h",
    "c10/musa/MUSAFunctions.h": "core/MUSAFunctions.h",
    "c10/musa/MUSAGraphsC10Utils.h": "core/MUSAGraphsC10Utils.h",
    "c10/musa/MUSAGuard.h": "core/MUSAGuard.h",
    "c10/musa/MUSAMiscFunctions.h": "core/MUSAMiscFunctions.h",
    "c10/musa/MUSAStream.h": "core/MUSAStream.h",
    "c10/musa/impl/MUSAGuardImpl.h": "core/GuardImpl.h",
}
# These as well, but the tool does not know it: where they are included, it is the generated one.
_OWN_BESIDE = {"ATen/musa/MUSAGraph.h": "aten/musa/MUSAGraph.h"}
_KERNEL_WORDS = {"__CUDACC__": "__MUSACC__", "cuda": "musa", "cuda_fp16": "musa_fp16", "cuda_bf16": "musa_bf16"}
_KERNEL_WORDS["__nv_bfloat16"] = "__mt_bfloat16"
_JIT = "ATen/jit_macros.h"
_STABLE_ABI = "torch/csrc/inductor/aoti_torch/c/shim.h"
# The same for PyTorch 2.11 and later: the functions of streams and of muBLAS' handle, without those that check CUDA's errors.
_STABLE_C = "torch/csrc/stable/c/shim.h"
_HANDLES = re.compile(r"^AOTI_TORCH_EXPORT AOTITorchError\s+torch_(?:get|set|musa)_\w*\([^)]*\);", re.MULTILINE)
_OF_CUDA = re.compile(r"^#ifdef USE_CUDA$(.*?^#endif)", re.MULTILINE | re.DOTALL)
# Libraries that Inductor builds: what AOTInductor's models are made of, and the wrappers of torch.compile.
_FOR_INDUCTOR = tuple(
    f"torch/csrc/inductor/{folder}"
    for folder in ("aoti_include", "aoti_runtime", "aoti_torch/generated", "cpp_wrapper")
)
_ASKS_FOR_CUDA = re.compile(r"USE_CUDA|cuda\.h|aoti_torch_cuda_")
_DEVICE_TYPE = re.compile(r"^AOTI_TORCH_EXPORT int32_t aoti_torch_device_type_cuda\(\);\n", re.MULTILINE)
# Kernels that are loaded from binaries, and Triton's, which are compiled when a library first runs: the simulator has none.
_OF_BINARIES = re.compile(r"^#ifdef USE_CUDA$[^#]*?\bloaded_modules_\b[^#]*?^#endif", re.MULTILINE)
_OF_TRITON = {"lazy_triton_compile.h"}
_LAZY_TRITON = re.compile(r"^#include <[^>]*lazy_triton_compile\.h>\n", re.MULTILINE)
# What is compiled beforehand so that it is quick, and includes more than a wrapper needs.
_BEFOREHAND = re.compile(r"^#ifdef TORCH_INDUCTOR_PRECOMPILE_HEADERS$.*?^#endif\n", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_SPELLING = re.compile("|".join(map(re.escape, _SPELLINGS)))
# Types and functions of the driver: CUmodule, cuMemCreate.
_OF_DRIVER = re.compile(r"CU(?=[a-z])|cu(?=(?:DeviceGet|GetError|Mem|Multicast|Stream)[A-Za-z])")
_INCLUDED = re.compile(r'(#\s*include\s*)[<"]([^>"\n]+)[>"]')
# Files whose names torch_musa's tool leaves: it renames words of its tables alone.
_NAMES = {"PhiloxMusaState": "PhiloxCudaState", "PhiloxMusaStateRaw": "PhiloxCudaStateRaw", "LazyMTRTC": "LazyNVRTC"}


def folders() -> list[str]:
    """Return the header folders, made if necessary: the one that contains `ATen/musa`, and the one above `torch_musa`."""
    torch = find_torch()
    root = cache.stored(f"headers-{torch.version}-{_version()}", partial(_make, torch.folder / "include"))
    return [str(root / _PLACE), str(root)]


def translate(text: str, rename: Callable[[str], str] | None = None) -> str:
    """Return the text of a header as torch_musa's tool makes it; with `rename`, each word of it is what that returns."""
    return "".join(_line(line, rename) for line in text.splitlines(keepends=True))


def _line(line: str, rename: Callable[[str], str] | None) -> str:
    if _INCLUDED.search(line):
        return _INCLUDED.sub(_include, line)
    for pattern, replacement in () if rename else _IN_CONTEXT:
        line = pattern.sub(replacement, line)
    return _renamed(line, rename or _by_table)


def _include(directive: re.Match[str]) -> str:
    own = directive[2].startswith(("ATen/", "c10/"))
    path = _WORD.sub(lambda word: _IN_INCLUDES.get(word[0]) or _spelled(word[0]), directive[2])
    path = re.sub(r"\.cuh$", ".muh", path) if own else path
    if path in _OWN:
        return f'{directive[1]}"torch_musa/csrc/{_OWN[path]}"'
    folder, _, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    path = f"{folder}/{_NAMES.get(stem, stem)}{dot}{suffix}" if folder else path
    quotes = '""' if '"' in directive[0] else "<>"
    return f"{directive[1]}{quotes[0]}{path}{quotes[1]}"


def _renamed(text: str, rename: Callable[[str], str]) -> str:
    return _WORD.sub(lambda word: rename(word[0]), text)


def _by_table(word: str) -> str:
    """What torch_musa's tool makes of a word."""
    known = _TOOLKIT.fullmatch(word) or _OF_PYTORCH.fullmatch(word)
    return _WORDS.get(word) or (_spelled(word) if known else word)


def _anew(word: str) -> str:
    """What a header that torch_musa has written anew calls it."""
    return _ANEW.get(word) or _spelled(word)


def _spelled(word: str) -> str:
    if driver := _OF_DRIVER.match(word):
        return ("MU" if driver[0] == "CU" else "mu") + word[2:]
    return _SPELLING.sub(lambda part: _SPELLINGS[part[0]], word)


def _version() -> str:
    names = sorted(str(path.relative_to(_TORCH_MUSA)) for folder in (_BY_HAND, _CSRC) for path in folder.rglob("*"))
    return hashlib.sha256(Path(__file__).read_bytes() + "\n".join(names).encode()).hexdigest()[:12]


def _make(headers: Path, root: Path) -> None:
    _write_all(headers, root / _PLACE)
    _write_for_kernels(headers, root / _PLACE)
    _write_stable_abi(headers, root / _PLACE)
    _write_inductor(headers, root / _PLACE)
    _write_without_jiterator(headers, root / _PLACE)


def _write_all(source: Path, target: Path) -> None:
    in_folders = (path for folder in _FOLDERS for path in (source / folder).rglob("*"))
    for path in sorted([*in_folders, *(source / name for name in _FILES)]):
        if path.suffix not in _SUFFIXES:
            continue
        name = _rename_path(path.relative_to(source))
        for file in _files(name, target):
            rename = None if file.is_relative_to(target) else _anew
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(translate(path.read_text(encoding="utf-8"), rename), encoding="utf-8")


def _files(name: Path, target: Path) -> list[Path]:
    """Where the translation of the header that becomes `name` goes: also to the place of torch_musa's own, if there is none."""
    files = [] if (_BY_HAND / name).exists() else [target / name]
    known = {**_OWN, **_OWN_BESIDE}
    own = known.get(str(name)) or known.get(str(name).replace("PhiloxCuda", "PhiloxMusa"))
    if own is not None and not (_CSRC / own).exists():
        files.append(target.parents[2] / "csrc" / own)
    return files


def _write_for_kernels(source: Path, target: Path) -> None:
    for name in _FOR_KERNELS:
        text = (source / name).read_text(encoding="utf-8") if (source / name).exists() else ""
        if "__CUDACC__" in text:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(
                _WORD.sub(lambda word: _KERNEL_WORDS.get(word[0], word[0]), text), encoding="utf-8"
            )


def _write_stable_abi(source: Path, target: Path) -> None:
    """The header of the stable ABI, whose part for CUDA has MUSA's names and does not depend on how PyTorch was built."""
    text = (source / _STABLE_ABI).read_text(encoding="utf-8")
    text = _OF_CUDA.sub(lambda part: "#if 1" + _renamed(part[1], _anew), text)
    text = _DEVICE_TYPE.sub(lambda line: line[0] + line[0].replace("cuda", "musa"), text, count=1)
    (target / _STABLE_ABI).parent.mkdir(parents=True, exist_ok=True)
    (target / _STABLE_ABI).write_text(text, encoding="utf-8")
    if not (source / _STABLE_C).exists():
        return
    text = (source / _STABLE_C).read_text(encoding="utf-8")
    text = _OF_CUDA.sub(lambda part: "\n\n".join(_HANDLES.findall(_renamed(part[1], _anew))), text)
    (target / _STABLE_C).parent.mkdir(parents=True, exist_ok=True)
    (target / _STABLE_C).write_text(text, encoding="utf-8")


def _write_inductor(source: Path, target: Path) -> None:
    """The headers of libraries that Inductor builds. torch_musa patches those that ask for CUDA, and has its own beside CUDA's."""
    for folder in _FOR_INDUCTOR:
        for path in sorted((source / folder).rglob("*.h")):
            text = path.read_text(encoding="utf-8")
            if _ASKS_FOR_CUDA.search(text) and path.name not in _OF_TRITON:
                file = target / path.relative_to(source).with_name(path.name.replace("cuda", "musa"))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_for_inductor(text), encoding="utf-8")


def _for_inductor(text: str) -> str:
    text = _OF_BINARIES.sub("#if 0\n#endif", text)
    for left_out in (_LAZY_TRITON, _BEFOREHAND):
        text = left_out.sub("", text)
    return _SPELLING.sub(lambda part: _SPELLINGS[part[0]], text)


def _write_without_jiterator(source: Path, target: Path) -> None:
    """torch_musa's copy of this header says that kernels are not generated at run time, which its other headers ask."""
    text = translate((source / _JIT).read_text(encoding="utf-8"))
    text = re.sub(r"(#\s*define AT_USE_JITERATOR\(\)) true", r"\1 false", text)
    (target / _JIT).write_text(text, encoding="utf-8")


def _rename_path(path: Path) -> Path:
    parts = [_renamed(part, _spelled) for part in path.with_suffix("").parts]
    parts[-1] = _NAMES.get(parts[-1], parts[-1])
    return Path(*parts).with_suffix(_SUFFIXES[path.suffix])

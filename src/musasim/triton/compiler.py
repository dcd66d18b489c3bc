"""The backend: options as for a GPU, Triton's front end for the IR, and a last stage that has nothing left to do."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

import triton
from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget

from musasim.triton import libdevice

__all__ = ["MUSABackend", "MUSAOptions"]


@dataclass(frozen=True)
class MUSAOptions:
    """What a launch may say besides its arguments; `kernel[grid](..., num_warps=8)`."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    cluster_dims: tuple[int, ...] = (1, 1, 1)
    maxnreg: int | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4nv", "fp8e5")
    deprecated_fp8_dtypes: tuple[str, ...] = ()
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: Any = ()
    debug: bool = False
    sanitize_overflow: bool = True
    backend_name: str = "musa"
    arch: str = ""
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False

    def __post_init__(self) -> None:
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps must be a power of 2, not {self.num_warps}")
        if self.num_ctas != 1:
            raise ValueError(f"num_ctas={self.num_ctas}: a MUSA device has no clusters of blocks, so it must be 1")

    def hash(self) -> str:
        """A text that is the same for equal options."""
        return hashlib.sha256(repr(sorted(vars(self).items(), key=lambda item: item[0])).encode()).hexdigest()


@dataclass(frozen=True)
class MUSAOptionsOf33(MUSAOptions):
    """The options of Triton 3.3, whose autotune passes four of warp specialization to every backend. They have no effect."""

    num_consumer_groups: int = 0
    num_buffers_warp_spec: int = 0
    reg_dec_producer: int = 0
    reg_inc_consumer: int = 0


_OPTIONS = MUSAOptionsOf33 if triton.__version__.startswith("3.3.") else MUSAOptions


class MUSABackend(BaseBackend):  # type: ignore[misc]
    """The compiler of the simulated device. What it makes of a kernel is its IR; the launcher interprets the source."""

    binary_ext = "mubin"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether code for `target` is this backend's."""
        return bool(target.backend == "musa")

    def hash(self) -> str:
        """A text that changes with what the backend does, for Triton's cache on disk."""
        return f"musasim-2-{self.target.arch}-{self.target.warp_size}"

    def parse_options(self, options: dict[str, Any]) -> MUSAOptions:
        """The options among a launch's keywords."""
        known = {field.name for field in fields(_OPTIONS)}
        given = {name: value for name, value in options.items() if name in known and value is not None}
        given.update(warp_size=self.target.warp_size, arch=str(self.target.arch))
        return _OPTIONS(**given)

    def pack_metadata(self, metadata: Any) -> tuple[Any, ...]:
        """What a launch is told of the compiled kernel, in the vendor's order."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared, *metadata.cluster_dims)

    def get_codegen_implementation(self, options: MUSAOptions) -> dict[str, Any]:
        """Conversions that the front end leaves to the backend, and the smallest sizes of tl.dot."""
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 16 if lhs.scalar.primitive_bitwidth == 8 else 1)}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Which module stands behind triton.language.extra.libdevice."""
        from triton.language.extra.cuda import libdevice as functions

        return {"triton.language.extra.libdevice": functions}

    def load_dialects(self, context: Any) -> None:
        """No dialects besides Triton's own."""

    def add_stages(self, stages: dict[str, Any], options: MUSAOptions, language: Any = None) -> None:
        """The steps from the front end's IR to the end."""
        if getattr(language, "name", "TRITON") != "TRITON":
            raise NotImplementedError(
                "musasim runs kernels of @triton.jit; Gluon's describe a chip that it does not simulate"
            )
        stages["ttir"] = _make_ttir
        stages["mubin"] = _make_mubin


def _make_ttir(module: Any, metadata: dict[str, Any]) -> Any:
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    try:
        manager.run(module, "make_ttir")
    except TypeError:  # up to Triton 3.5 a run has no name
        manager.run(module)
    return module


def _make_mubin(module: Any, metadata: dict[str, Any]) -> bytes:
    text = str(module)
    metadata["name"] = _name(text)
    metadata["shared"] = 0
    metadata.update(
        tmem_size=None, global_scratch_size=0, global_scratch_align=1, profile_scratch_size=0, profile_scratch_align=1
    )
    _refuse_assembly(text, metadata["name"])
    _refuse_functions(text, metadata["name"])
    return text.encode()


def _name(text: str) -> str:
    definition = re.search(r'tt\.func public @"?([^"(\s]+)"?\(', text)
    return definition[1] if definition else "kernel"


def _refuse_assembly(text: str, kernel: str) -> None:
    assembly = re.search(r'elementwise_inline_asm "((?:[^"\\]|\\.)*)"', text)
    if assembly:
        raise NotImplementedError(
            f"kernel {kernel!r} contains inline assembly for NVIDIA GPUs, which a MUSA device cannot run: {assembly[1]!r}"
        )


def _refuse_functions(text: str, kernel: str) -> None:
    for symbol in re.findall(r'extern_elementwise.*?symbol = "(\w+)"', text):
        if libdevice.function(symbol) is None:
            raise NotImplementedError(
                f"kernel {kernel!r} calls {symbol}, a function of libdevice that musasim does not have"
            )

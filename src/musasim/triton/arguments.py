"""The arguments of a launch: checked as a device would, and turned into what the interpreter computes with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Pointer", "Signature", "base_of", "leaves"]


class Pointer(NamedTuple):
    """A pointer of a launch, without the tensor: where its memory begins, and how many bytes it has (0: not known)."""

    address: int
    storage: int = 0
    nbytes: int = 0


def base_of(value: Any) -> Any:
    """The tensor behind what a launch got as a pointer: a view with another type and a descriptor both wrap one."""
    while hasattr(value, "base") and not hasattr(value, "untyped_storage"):
        value = value.base
    return value


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value in an argument, with a name for it; a tuple has several."""
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from leaves(f"{name}[{i}]", item)
    else:
        yield name, value


class Signature:
    """What a compiled kernel expects of a launch: the name and type of each parameter, and the constants."""

    def __init__(self, source: Any, name: str) -> None:
        self.name = name
        function = source.fn
        self.parameters: Sequence[str] = tuple(function.arg_names)
        self._types = _by_name(source.signature, self.parameters)
        self._constants = _by_path(source.constants, self.parameters)
        self._aligned = _aligned(getattr(source, "attrs", {}), self.parameters)

    def named(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """`arguments` by name. Some callers pass constants too, others leave them out."""
        if len(arguments) == len(self.parameters):
            return dict(zip(self.parameters, arguments))
        rest = iter(arguments)
        missing = [
            name for name in self.parameters if (name,) not in self._constants and self._types.get(name) != "constexpr"
        ]
        if len(missing) != len(arguments):
            raise TypeError(
                f"kernel {self.name!r} takes {len(missing)} arguments that are no constants, not {len(arguments)}"
            )
        return {name: next(rest) if name in missing else self._constants.get((name,)) for name in self.parameters}

    def tensors(self, arguments: Mapping[str, Any], device: Any) -> list[Any]:
        """The tensors on `device` among the arguments. Any other pointer that the device cannot use raises."""
        tensors = []
        for parameter, argument in arguments.items():
            if self._types.get(parameter) == "constexpr":
                continue
            for name, value in leaves(parameter, argument):
                if hasattr(value, "data_ptr") or hasattr(value, "base"):
                    tensor = base_of(value)
                    self._check(name, tensor, device)
                    tensors.append(tensor)
        return tensors

    def _check(self, name: str, tensor: Any, device: Any) -> None:
        where, position = tensor.device, self.parameters.index(name.split("[")[0])
        if where.type == "cpu" and not tensor.is_pinned():
            raise ValueError(
                f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?): "
                f"argument {name!r} of kernel {self.name!r} lies on the host, and the kernel runs on {device}"
            )
        if where.type != "cpu" and where != device:
            raise ValueError(
                f"argument {name!r} of kernel {self.name!r} lies on {where}, and the kernel runs on {device}"
            )
        if name in self._aligned and tensor.data_ptr() % self._aligned[name]:
            raise ValueError(
                f"argument {name!r} of kernel {self.name!r} is at address {tensor.data_ptr():#x}; the kernel was compiled "
                f"for a multiple of {self._aligned[name]}, so a device would report a misaligned address"
            )

    def type_of(self, parameter: str) -> Any:
        """The type of a parameter: "*fp32", "i64", "constexpr", or a tuple of types."""
        return self._types.get(parameter, "constexpr")

    def constant(self, path: tuple[Any, ...], otherwise: Any) -> Any:
        """The value that was compiled into the kernel for a parameter, or for an element of one that is a tuple."""
        return self._constants.get(path, otherwise)

    def is_constant(self, path: tuple[Any, ...]) -> bool:
        """Whether a parameter, or an element of one, was compiled into the kernel."""
        return path in self._constants


def _by_name(types: Mapping[Any, Any], parameters: Sequence[str]) -> dict[str, Any]:
    return {parameters[key] if isinstance(key, int) else key: value for key, value in types.items()}


def _by_path(values: Mapping[Any, Any], parameters: Sequence[str]) -> dict[tuple[Any, ...], Any]:
    by_path = {}
    for key, value in values.items():
        path = key if isinstance(key, tuple) else (key,)
        first = parameters[path[0]] if isinstance(path[0], int) else path[0]
        by_path[(first, *path[1:])] = value
    return by_path


def _aligned(attributes: Any, parameters: Sequence[str]) -> dict[str, int]:
    aligned = {}
    for path, claims in dict(attributes or {}).items():
        if isinstance(path, tuple) and len(path) == 1:
            for claim in claims:
                if claim[0] == "tt.divisibility":
                    aligned[parameters[path[0]]] = int(claim[1])
    return aligned

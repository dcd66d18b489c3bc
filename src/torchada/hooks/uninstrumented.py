"""Keeps torchada's own modules out of import hooks that evaluate annotations, such as those of typeguard and beartype.

Our annotations name types that are imported for type checkers alone, so that no program pays for them. A hook that evaluates them
makes each of our functions fail. Such a hook may read this file, so the annotations here need no import.
"""

import sys

OURS = ("torchada", "torch_host", "torch_battery", "musasim", "_torchada_cache")


class Uninstrumented:
    """Finds our modules by the other finders, and has them loaded as usual where a hook of `packages` would load them."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name.partition(".")[0] not in OURS:
            return None
        spec = _answer_of_others(name, path, target)
        loader = getattr(spec, "loader", None)
        if type(loader).__module__.partition(".")[0] in self.packages:
            spec.loader = _usual(type(loader))(name, loader.path)  # type: ignore[union-attr,attr-defined]
        return spec


def leave_out(packages: list[str]) -> None:
    """From here on, import our modules without the hooks of `packages`."""
    if not isinstance(sys.meta_path[0], Uninstrumented):
        sys.meta_path.insert(0, Uninstrumented(packages))  # type: ignore[arg-type]


def _answer_of_others(name: str, path: object, target: object) -> object:
    for finder in list(sys.meta_path):
        find = None if isinstance(finder, Uninstrumented) else getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find else None
        if spec is not None:
            return spec
    return None


def _usual(kind: type) -> type:
    """The standard library's loader that a hook's loader derives from."""
    return next(base for base in kind.__mro__ if base.__module__ in sys.stdlib_module_names)

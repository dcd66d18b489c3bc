"""What runs at every start of the interpreter: one finder is put first on sys.meta_path. Nothing costly may be imported here.

The start-up files name `install`. Everything else waits until a watched module is executed, because sys.path may still grow at
start-up. The finder imports nothing at all: the import system holds its global lock while it asks finders, and a finder that
waits for another thread's import under that lock never returns. The loaders do whatever needs an import.

PYTEST_DONT_REWRITE: pytest would warn in every run that this module was imported before it.
"""

import os
import sys

TYPE_CHECKING = False  # importing typing would cost too much
if TYPE_CHECKING:
    from typing import Any

DISABLE = "TORCHADA_DISABLE"
SIMULATE = "TORCHADA_SIMULATE"
FACE = "MUSASIM_FACE"  # whose adapter the simulator is: musa, npu or mlu
STRICT = "TORCHADA_STRICT"
ON = ("1", "true", "yes", "on")
# Packages whose import hooks evaluate the annotations of what is imported, and the module that has the hook.
INSTRUMENTS = {"typeguard": "typeguard._importhook", "beartype": "beartype.claw"}
# torch, and the adapter modules that may be imported before it; True means that a simulator of it exists. Areas add their own
# modules once torch has been imported.
WATCHED_AT_START = {"torch": False, "torch_musa": True, "torch_npu": True, "torch_mlu": True}
# Programs use these without torch: NVIDIA's management library, and what answers in its place.
MANAGEMENT = ("pynvml", "pymtml")


class HookFinder:
    """Answers None after one dictionary look-up for every name it does not watch, and for every name while it is switched off.

    It never leaves sys.meta_path: an import in another thread, which is walking over that list, would skip the finder after it.
    """

    def __init__(self) -> None:
        self.watched = {**WATCHED_AT_START, **dict.fromkeys(MANAGEMENT, False)}
        self.enabled = True
        # Modules whose own code has run, and whose import was interrupted after that. Torch cannot be executed twice.
        self.executed: dict[str, Any] = {}

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        if name not in self.watched or not self.enabled:
            return None
        spec = self.ask_remaining(name, path, target)
        if spec is not None and spec.loader is not None:  # without a loader, it is a folder of that name
            if hasattr(spec.loader, "exec_module"):
                spec.loader = ChainedLoader(spec.loader)
        elif self.watched.get(name) and is_on(SIMULATE) and name == f"torch_{os.environ.get(FACE) or 'musa'}":
            spec = type(sys.__spec__)(name, SimulatedLoader(), is_package=True)  # type: ignore[arg-type]
        return spec

    def is_in_force(self) -> bool:
        """Whether imports are noticed."""
        return self.enabled and self in sys.meta_path

    def ask_remaining(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """Return what the finders after this one answer."""
        # Entering the import system again (importlib.util.find_spec) would deadlock with threads and recurse with other hooks of
        # our kind; the finders before ours have answered None already.
        meta_path = list(sys.meta_path)
        start = meta_path.index(self) + 1 if self in meta_path else 0
        for finder in meta_path[start:]:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None


class ChainedLoader:
    """Stands for the true loader until the module is executed, and then leaves no trace.

    Whatever else is read, written, compared or asked for its class is the true loader's own: others look at the spec of a module
    before it is executed, or never execute it. A copy, and what is unpickled, stands for a loader in the same way.
    """

    __slots__ = ("_torchada_loader",)

    def __init__(self, loader: "Any") -> None:
        object.__setattr__(self, "_torchada_loader", loader)

    @property  # type: ignore[misc]
    def __class__(self) -> "Any":
        # Not for a loader of another import hook, which may ask in this way whether it has chained its own already.
        kind = type(self._torchada_loader)
        return kind if kind.__module__ in sys.stdlib_module_names else ChainedLoader

    def __getattr__(self, name: str) -> "Any":
        # get_code, get_source, get_resource_reader, path ..., and __dict__. The slot itself arrives here while it is empty.
        if name == "_torchada_loader":
            raise AttributeError(name)
        return getattr(self._torchada_loader, name)

    def __setattr__(self, name: str, value: "Any") -> None:
        setattr(self._torchada_loader, name, value)

    def __eq__(self, other: object) -> "Any":
        return self._torchada_loader == (other._torchada_loader if type(other) is ChainedLoader else other)

    def __hash__(self) -> int:
        return hash(self._torchada_loader)

    def __reduce__(self) -> "Any":
        return ChainedLoader, (self._torchada_loader,)

    def create_module(self, spec: "Any") -> "Any":
        if spec.name in FINDER.executed:
            return FINDER.executed[spec.name]
        create = getattr(self._torchada_loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module: "Any") -> None:
        loader = self._torchada_loader
        # Another hook's loader may have taken our place since, and stays.
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = loader
        if module.__spec__ is not None and module.__spec__.loader is self:
            module.__spec__.loader = loader
        execute = Execution(loader, module)
        try:
            leave_instruments_out()
            from torchada.hooks.importer import follow

            follow(module.__name__, execute, FINDER)
        except Exception as error:
            if execute.failed:
                raise  # the module's own error
            not_started(error)
        except BaseException:  # an interrupt: the import system throws the module away
            if execute.is_complete:
                FINDER.executed[module.__name__] = module
            raise
        if not execute.begun:
            execute()


class Execution:
    """The execution of a module by its own loader, once. It takes place whatever goes wrong in torchada before or after.

    One that has been executed is not executed again where its import was interrupted afterwards.
    """

    def __init__(self, loader: "Any", module: "Any") -> None:
        self._loader, self._module = loader, module
        self.begun = self.failed = self.is_complete = False

    def __call__(self) -> None:
        self.begun = True
        if FINDER.executed.pop(self._module.__name__, None) is not self._module:
            try:
                self._loader.exec_module(self._module)
            except BaseException:
                self.failed = True
                raise
        self.is_complete = True


class SimulatedLoader:
    """Stands for an adapter module that is not installed, where TORCHADA_SIMULATE=1 asks for its simulator."""

    is_simulated = True  # tells it from the loader of an installed adapter

    def create_module(self, spec: "Any") -> "Any":
        from torchada.hooks.importer import simulated_spec

        outer = spec.loader  # of another hook, if it is not this one
        vars(spec).update(vars(simulated_spec(spec.name)))
        self.loader = ChainedLoader(spec.loader)
        spec.loader = self.loader if outer is self else outer
        return self.loader.create_module(spec)

    def exec_module(self, module: "Any") -> None:
        self.loader.exec_module(module)


FINDER = HookFinder()
TOLD: "set[str]" = set()  # why torchada did not start


def is_on(variable: str) -> bool:
    """Whether a flag is set. A value that is neither on nor off counts as off, and is named in a warning later."""
    return os.environ.get(variable, "").strip().lower() in ON


def is_disabled() -> bool:
    """Whether TORCHADA_DISABLE opts out."""
    return is_on(DISABLE)


def install() -> None:
    """Put the hook in force. Idempotent (a venv runs each .pth line twice); never raises, unless TORCHADA_STRICT=1."""
    try:
        if is_disabled():
            return
        leave_instruments_out()
        if FINDER in sys.meta_path:
            return
        sys.meta_path.insert(0, FINDER)
        if not FINDER.watched.keys().isdisjoint(sys.modules):
            from torchada.hooks.activation import catch_up

            catch_up(FINDER)
    except Exception as error:
        not_started(error)


def not_started(error: Exception) -> None:
    """Report that torchada did not start; the user's program goes on without it."""
    pass_on_interrupt(error)
    if is_on(STRICT):
        raise error
    text = f"{type(error).__name__}: {error}".partition("\n")[0]
    if sys.stderr is not None and text not in TOLD:  # each module that is watched would say it again
        TOLD.add(text)
        sys.stderr.write(f"torchada: not started: {text}\n")


def leave_instruments_out() -> None:
    """Let no hook that evaluates annotations read our modules: names in them are there for type checkers alone."""
    if hooks := [name for name, module in INSTRUMENTS.items() if module in sys.modules]:
        from torchada.hooks import uninstrumented

        uninstrumented.leave_out(hooks)


def pass_on_interrupt(error: BaseException) -> None:
    """Raise the KeyboardInterrupt or SystemExit that `error` stands for, if any: it must not be reported as a fault of torchada.

    As torchada.base.faults, which cannot be imported where all of torchada is broken.
    """
    cause = error.__cause__
    while cause is not None:
        if not isinstance(cause, Exception):
            raise cause
        cause = cause.__cause__

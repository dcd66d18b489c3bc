"""torch.utils.collect_env, whose output bug reports contain: the backend's GPUs, driver and runtime, and torchada itself.

`python -m torch.utils.collect_env` executes a copy of the module as __main__, which no patch of the module reaches. The loader
therefore hands runpy a program that imports the module and calls its `main`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction

_MODULE = "torch.utils.collect_env"
_PROGRAM = f"from {_MODULE} import main\nmain()\n"


def patches(context: Context) -> Iterator[Patch]:
    import torch.utils.collect_env as collect_env  # torch imports it in any case

    for name, answer in _answers(context).items():
        original = getattr(collect_env, name, None)
        if original is not None:
            yield Patch(collect_env, name, disguise(answer(original), original), None, note=f"{_MODULE}.{name}")
    spec: Any = collect_env.__spec__
    if hasattr(spec.loader, "get_code"):
        yield Patch(spec, "loader", _Loader(spec.loader), None, note=f"python -m {_MODULE}")


class _Loader:
    """The loader of the module: runpy gets another program from it, and everything else is the original's."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_loader"], name)

    def get_code(self, name: str) -> CodeType:
        return compile(_PROGRAM, self._loader.get_filename(name), "exec")


def _answers(context: Context) -> dict[str, Callable[[AnyFunction], AnyFunction]]:
    """What answers for each function of the module, made from the original."""

    def get_gpu_info(original: AnyFunction) -> AnyFunction:
        return lambda run_lambda: _environment(context).gpus() or original(run_lambda)

    def get_nvidia_driver_version(original: AnyFunction) -> AnyFunction:
        return lambda run_lambda: _environment(context).driver() or original(run_lambda)

    def get_running_cuda_version(original: AnyFunction) -> AnyFunction:
        return lambda run_lambda: _environment(context).runtime() or original(run_lambda)

    def get_pretty_env_info(original: AnyFunction) -> AnyFunction:
        return lambda: f"{original()}\n{_environment(context).torchada()}"

    return {
        answer.__name__: answer
        for answer in (get_gpu_info, get_nvidia_driver_version, get_running_cuda_version, get_pretty_env_info)
    }


def _environment(context: Context) -> Any:
    from torchada.areas.cuda._environment import Environment

    return Environment(context)

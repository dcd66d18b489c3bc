"""What programs read about devices: properties that CUDA has and the backend lacks, architectures, generators, visible devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._device_attributes import NUMBERS, DeviceAttributes
from torchada.areas.cuda._management import Management
from torchada.areas.cuda._native_names import native_names
from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.kept_names import text_by_view, text_patches
from torchada.redirect.mirrors.visible_devices import visible_devices
from torchada.redirect.namespaces import modules_with
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import DeviceLike, Generator, Namespace

_PROPERTIES = "torch.cuda.get_device_properties()"


def patches(context: Context) -> Iterator[Patch]:
    cuda = context.torch.cuda
    asked = _get_device_properties(context, cuda.get_device_properties)
    yield Patch(cuda, "get_device_properties", asked, "torch.cuda.get_device_properties")
    yield from _missing_properties(context)
    yield from _context_managers_as_devices(context)
    yield from _blocks_of_no_device(context)
    for name, make in (("get_gencode_flags", _get_gencode_flags), ("_parse_visible_devices", _parse_visible_devices)):
        yield Patch(cuda, name, make(context, getattr(cuda, name)), f"torch.cuda.{name}")
    for name in ("_check_capability", "_check_cubins"):
        if name in vars(cuda):
            api, to = f"torch.cuda.{name}", "nothing: NVIDIA's architectures are compared in it"
            yield Patch(cuda, name, _nothing_to_check(getattr(cuda, name)), api, kind="emulated", to=to)
    listed = getattr(context.namespace, "get_arch_list", None)
    if listed is not None:
        named = by_view(context.views, lambda: [f"sm_{arch}" for arch in listed()], cuda.get_arch_list)
        yield Patch(cuda, "get_arch_list", named, "torch.cuda.get_arch_list")
    summary = text_by_view(context, cuda.memory_summary)
    for owner in (cuda, cuda.memory):
        yield Patch(owner, "memory_summary", summary, f"{owner.__name__}.memory_summary")
    generators = DefaultGenerators(context.namespace)
    yield Patch(cuda, "default_generators", generators, "torch.cuda.default_generators")
    if hasattr(cuda, "current_solver_handle"):
        refuse = unsupported(
            context, "torch.cuda.current_solver_handle", "torch shows no solver handle", cuda.current_solver_handle
        )
        yield Patch(cuda, "current_solver_handle", refuse, "torch.cuda.current_solver_handle", kind="unsupported")


def _context_managers_as_devices(context: Context) -> Iterator[Patch]:
    """CUDA's functions accept torch.cuda.device(0) as a device, and their errors name CUDA's devices. Those that need an index
    refuse None and "cuda", which the backend's take for the current device.

    torch_musa's all look their device up by one function, and say as CUDA's do whether the index is optional.
    """
    name = f"_get_{context.backend.device_type}_device_index"
    for module, original in modules_with(context.backend.adapter, name):
        if callable(original):
            call = _index_of(context, original)
            yield Patch(module, name, call, None, note="devices that functions of torch.cuda are given")
    for module, original in modules_with(context.backend.adapter, "_get_device_index"):
        if original is context.torch._utils._get_device_index:  # torch_musa 2.7.1's pools look their device up by it
            call = _index_by_torch(context, original)
            yield Patch(module, "_get_device_index", call, None, note="the device of torch.cuda.use_mem_pool")


def _blocks_of_no_device(context: Context) -> Iterator[Patch]:
    """CUDA takes a negative number for no change of the device, also where a function makes a block of it: synchronize(-1) is for
    the current one. torch_musa documents the same, and hands the number to its runtime.
    """
    original = getattr(context.namespace, "_exchange_device", None)
    if original is not None:
        call = _exchange_none(context, original)
        yield Patch(context.namespace, "_exchange_device", call, None, note="negative devices that torch.cuda is given")


def _exchange_none(context: Context, original: Callable[[int], int]) -> Callable[[int], int]:
    def exchange(device: int) -> int:
        if device < 0:
            from torchada.redirect.backend_words import is_for_cuda  # programs hardly ever ask so

            if is_for_cuda(context.views):
                return -1
        return original(device)

    call = disguise(exchange, original)
    # pickle looks a function up by module and name. The original's are those of the C module, where the original stays.
    call.__name__ = call.__qualname__ = "_exchange_device"
    call.__module__ = context.namespace.__name__
    return call


def _index_of(context: Context, original: Callable[..., int]) -> Callable[..., int]:
    cuda, names_none = context.torch.cuda, _names_no_index(context)

    def index(device: object, optional: bool = False, *args: Any, **kwargs: Any) -> int:
        if not optional and names_none(device):
            _refuse_for_cuda(context, device)
        try:
            return int(device.idx) if isinstance(device, cuda.device) else original(device, optional, *args, **kwargs)
        except ValueError as error:
            from torchada.redirect.backend_words import error_of_cuda  # no error is raised at the start

            raise error_of_cuda(error, context) from error.__cause__

    return disguise(index, original)


def _index_by_torch(context: Context, original: Callable[..., int]) -> Callable[..., int]:
    """torch's function for all devices, whose errors are those of torch.cuda's where a program that sees CUDA asks."""

    def index(device: object, *args: Any, **kwargs: Any) -> int:
        try:
            return original(device, *args, **kwargs)
        except ValueError:
            from torchada.redirect.backend_words import is_for_cuda  # no error is raised at the start

            if is_for_cuda(context.views):
                context.torch.cuda._get_device_index(device, *args, **kwargs)
            raise

    return disguise(index, original)


def _names_no_index(context: Context) -> Callable[[object], bool]:
    device_type, kind = context.backend.device_type, context.torch.device

    def names_no_index(device: object) -> bool:
        if isinstance(device, kind):
            return device.index is None and device.type == device_type
        return device is None or device == "cuda" or device == device_type

    return names_no_index


def _refuse_for_cuda(context: Context, device: object) -> None:
    from torchada.redirect.backend_words import is_for_cuda  # programs hardly ever ask so

    if is_for_cuda(context.views):
        context.torch.cuda._get_device_index(device)


def _get_device_properties(context: Context, original: Callable[..., object]) -> Callable[..., object]:
    """torch_musa's function has no default for `device`; CUDA's default is the current device."""
    namespace = context.namespace

    def get_device_properties(device: DeviceLike = None) -> object:
        return namespace.get_device_properties(namespace.current_device() if device is None else device)

    return disguise(get_device_properties, original)


def _missing_properties(context: Context) -> Iterator[Patch]:
    """The fields of cudaDeviceProp that the backend's class of properties lacks, added to that class."""
    own: Any = native_names(context).get("_CudaDeviceProperties", ("", None))[1]
    if own is None:
        return
    yield Patch(context.torch.cuda, "_CudaDeviceProperties", own, "torch.cuda._CudaDeviceProperties", kind="same")
    yield from text_patches(own, {"__repr__": text_by_view(context, own.__repr__)})
    attributes = DeviceAttributes(context)
    for name in NUMBERS:
        if not hasattr(own, name):
            api = f"{_PROPERTIES}.{name}"
            yield Patch(own, name, property(_reader(attributes, name)), api, to="the runtime's device attributes")
    if not hasattr(own, "gcnArchName"):  # the name of the device, on everything but ROCm
        yield Patch(own, "gcnArchName", property(lambda self: self.name), f"{_PROPERTIES}.gcnArchName")
    if not hasattr(own, "uuid"):
        uuid = property(Management(context).uuid)
        yield Patch(own, "uuid", uuid, f"{_PROPERTIES}.uuid", to="the management library")


def _reader(attributes: DeviceAttributes, name: str) -> Callable[[object], int]:
    def read(self: object) -> int:
        return attributes.read(name, self)

    return read


def _get_gencode_flags(context: Context, original: Callable[[], str]) -> Callable[[], str]:
    """The flags of the backend's compiler: its architectures are numbers, not sm_80 and compute_80."""
    namespace, build = context.namespace, context.backend.build
    flag = build.compiler.arch_flag if build else "{}"

    def get_gencode_flags() -> str:
        return " ".join(flag.format(arch) for arch in namespace.get_arch_list())

    return disguise(get_gencode_flags, original)


def _nothing_to_check(original: Callable[[], None]) -> Callable[[], None]:
    def check() -> None:
        """CUDA builds of torch compare NVIDIA's architectures here, and cannot parse others."""

    return disguise(check, original)


def _parse_visible_devices(context: Context, original: Callable[[], object]) -> Callable[[], object]:
    """The devices that the backend's own variable leaves visible, which CUDA_VISIBLE_DEVICES is copied to."""
    variable = context.backend.visible_devices

    def _parse_visible_devices() -> object:
        visible = visible_devices(variable)
        return original() if visible is None else visible

    return disguise(_parse_visible_devices, original)


class DefaultGenerators(Sequence["Generator"], tuple):  # type: ignore[metaclass, misc, type-arg]
    """torch.cuda.default_generators: one generator for each device, and none before initialization, as on CUDA.

    A tuple for isinstance; what it holds is looked up at each use, because programs import the name before initialization.
    """

    _namespace: Namespace

    def __new__(cls, namespace: Namespace) -> DefaultGenerators:
        made = super().__new__(cls)
        made._namespace = namespace
        return made

    def _now(self) -> tuple[Generator, ...]:
        return tuple(getattr(self._namespace, "default_generators", ()))

    def __getitem__(self, index: Any) -> Any:
        return self._now()[index]

    def __len__(self) -> int:
        return len(self._now())

    def __eq__(self, other: object) -> bool:
        return self._now() == (other._now() if isinstance(other, DefaultGenerators) else other)

    def __hash__(self) -> int:
        return hash(self._now())

    def __add__(self, other: Any) -> Any:
        return self._now() + other

    def __radd__(self, other: Any) -> Any:
        return other + self._now()

    def __reduce__(self) -> tuple[type[tuple[Generator, ...]], tuple[list[Generator]]]:
        return tuple, (list(self._now()),)

    def __repr__(self) -> str:
        return repr(self._now())

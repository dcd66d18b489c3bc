"""What the adapter has to know of an accelerator. Third parties add one through the entry-point group `torchada.backends`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Backend:
    """A PyTorch device that can stand in for CUDA.

    `name` is what TORCHADA_PLATFORM says, `device_type` what torch.device says, `adapter` the module whose import registers the
    device, `namespace` the attribute of torch that mirrors torch.cuda. `collectives` maps the names of communication backends,
    `dispatch_keys` those of CUDA's dispatch keys, `renames` the names of torch.cuda that are spelled differently in the namespace.
    `dnn` is the module of torch.backends that has the switches of the neural network library, as torch.backends.cudnn has cuDNN's.
    `simulator` names a module with `finder.find_spec` that can stand in for the adapter on machines without the hardware.
    """

    name: str
    device_type: str
    adapter: str
    namespace: str
    visible_devices: str
    collectives: Mapping[str, str] = field(default_factory=dict)
    dispatch_keys: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    dnn: str | None = None
    simulator: str | None = None

"""Where a program takes its tensors to be. All of their memory is the same, so nothing in a tensor says it.

But it has to be known: `x.cpu()` copies a tensor of a GPU, and programs rely on it (`best = {k: v.cpu() for k, v in
model.state_dict().items()}`), and `x.cuda()` copies one of the CPU. So the storages are remembered that were made without a
device, or on the CPU or another device than the current one by name. What operators make of them is not known, and counts as
the current device's.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor

CPU = -1  # its index, as Tensor.get_device has it
# So many storages are remembered before those that are gone are looked for the first time.
_MANY = 1024


class Places:
    """The index of the device, or CPU, by the address of the C++ object of a storage.

    Each is held by a weak reference, which does not keep its memory, but its address: no other storage can have it meanwhile.
    """

    def __init__(self, torch: Any) -> None:
        self._storage_class = torch.UntypedStorage
        self._address = getattr(torch._C, "_storage_address", _address)
        self._plain = frozenset({torch.Tensor, torch.nn.Parameter})
        self._index: dict[int, int] = {}
        self._weak: dict[int, int] = {}
        self._many = _MANY
        self._lock = Lock()
        self._torch_device = torch.device
        self._standing: dict[int, Any] = {}
        # The index that a device made by `standing_for` stands for, by its id.
        self.stands_for: dict[int, int] = {}

    def of(self, tensor: Tensor) -> int | None:
        """The index, or None where nothing is known: the tensor then counts as the current device's."""
        if not self._index:
            return None
        try:
            return self._index.get(self._address(tensor))
        except (RuntimeError, NotImplementedError):  # sparse, for instance
            return None

    def put(self, tensor: Any, index: int) -> Any:
        """Remember where `tensor` is, if it is a tensor with memory of its own; return it."""
        if type(tensor) in self._plain:
            try:
                self.put_storage(tensor.untyped_storage(), index)
            except (RuntimeError, NotImplementedError):
                pass
        return tensor

    def put_storage(self, storage: Any, index: int) -> None:
        """The same of a storage."""
        address = storage._cdata
        if address not in self._index:
            self._weak[address] = storage._weak_ref()
        self._index[address] = index
        if len(self._index) > self._many:
            self._forget_what_is_gone()

    def of_storage(self, storage: Any) -> int | None:
        return self._index.get(storage._cdata)

    def standing_for(self, index: int) -> Any:
        """A torch.device("cpu") that says where a tensor is, for code that sees the CPU: always the same object.

        PyTorch makes and moves tensors with the device of others (`value.to(device=param.device)`): they are where those are.
        """
        made = self._standing.get(index)
        if made is None:
            made = self._standing[index] = self._torch_device("cpu")
            self.stands_for[id(made)] = index
        return made

    def _forget_what_is_gone(self) -> None:
        with self._lock:
            for address, weak in list(self._weak.items()):
                if self._storage_class._expired(weak):
                    del self._index[address], self._weak[address]
                    self._storage_class._free_weak_ref(weak)
            self._many = max(_MANY, 2 * len(self._index))


def _address(tensor: Tensor) -> int:
    address: int = tensor.untyped_storage()._cdata
    return address


_of: dict[int, Places] = {}


def places_of(torch: Any) -> Places:
    """The one record of this torch, which all areas share."""
    return _of.get(id(torch)) or _of.setdefault(id(torch), Places(torch))

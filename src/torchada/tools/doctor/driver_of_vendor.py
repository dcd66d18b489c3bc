"""What each vendor's adapter says where it cannot be loaded or shows no device, from the vendors' public sources and trackers."""

from __future__ import annotations

from typing import NamedTuple

_MUSA = "https://github.com/MooreThreads/torch_musa"
_NPU = "https://github.com/Ascend/pytorch"
_MLU = "https://github.com/Cambricon/torch_mlu"


class Symptom(NamedTuple):
    """A part of the loader's message (`sign`), what it means, what to do, and where that is from."""

    sign: str
    meaning: str
    cure: str
    source: str


class Vendor(NamedTuple):
    """`visible` are the variables that choose devices, and `look` is what to do where there is none. The first symptom counts."""

    visible: tuple[str, ...]
    look: str
    symptoms: tuple[Symptom, ...]


def _another_torch(adapter: str, source: str) -> tuple[Symptom, Symptom]:
    meaning = f"this {adapter} was built for another torch"
    cure = f"install the torch that the vendor publishes beside this {adapter}"
    signs = ("undefined symbol: _ZN2at", "undefined symbol: _ZN3c10")
    return Symptom(signs[0], meaning, cure, source), Symptom(signs[1], meaning, cure, source)


_OF_MUSA = (
    Symptom(
        "PVRSRV",
        "the driver and the MUSA SDK are of different releases",
        "install the driver and the SDK of one release; in a container, the one on the host counts",
        f"{_MUSA}/issues/24",
    ),
    *_another_torch("torch_musa", f"{_MUSA}/issues/63"),
    Symptom(
        "libmusa_python.so",
        "this torch_musa was built for another MUSA SDK, or for another torch",
        "install the versions that belong together: `torchada doctor -v` lists them",
        f"{_MUSA}/issues/101",
    ),
    Symptom(
        "cannot open shared object file",
        "a library of the MUSA SDK is not found",
        "install the SDK, and put its lib folder into LD_LIBRARY_PATH: export LD_LIBRARY_PATH=$MUSA_HOME/lib:$LD_LIBRARY_PATH",
        f"{_MUSA}#from-source",
    ),
    Symptom(
        "GLIBC_",
        "the system's C library is older than the one that torch_musa was built with",
        "use a newer distribution, or the vendor's container",
        f"{_MUSA}/issues/73",
    ),
    Symptom(
        "different directory",
        "Python was started in the source folder of torch_musa, or its libraries do not load",
        "start it in another folder; if it is the same there, look at the cause above",
        f"{_MUSA}/issues/9",
    ),
)
_OF_NPU = (
    *_another_torch("torch_npu", f"{_NPU}#readme"),
    Symptom(
        "cannot open shared object file",
        "a library of CANN or of the driver is not found",
        "install CANN and source /usr/local/Ascend/ascend-toolkit/set_env.sh; "
        "on a machine without an Ascend device, pip uninstall torch_npu",
        f"{_NPU}#readme",
    ),
)
_OF_MLU = (
    *_another_torch("torch_mlu", f"{_MLU}#readme"),
    Symptom(
        "cannot open shared object file",
        "a library of the Neuware SDK or of the driver is not found",
        "export LD_LIBRARY_PATH=$NEUWARE_HOME/lib64:$LD_LIBRARY_PATH; "
        "on a machine without a Cambricon device, pip uninstall torch_mlu",
        f"{_MLU}#readme",
    ),
)
VENDORS = {
    "torch_musa": Vendor(
        ("MUSA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "MTHREADS_VISIBLE_DEVICES"),
        "see whether `mthreads-gmi` lists them; in a container, start it with --env MTHREADS_VISIBLE_DEVICES=all",
        _OF_MUSA,
    ),
    "torch_npu": Vendor(
        ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"),
        "see whether `npu-smi info` lists them; in a container, see that /dev/davinci* is there",
        _OF_NPU,
    ),
    "torch_mlu": Vendor(
        ("MLU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        "see whether `cnmon` lists them; in a container, see that /dev/cambricon* is there",
        _OF_MLU,
    ),
}

"""Cambricon's MLUs through torch_mlu. Names are those of its public sources of September 2024; it was not run on hardware."""

from __future__ import annotations

from torchada.backends.descriptor import Allocator, Backend, Collectives, CollectiveVariables, Graphs, Names, Native

_NAMES = Names(
    renames={"CUDAGraph": "MLUGraph", "nccl": "cncl", "nvtx": "cnpx"},
    dnn="cnnl",
)

_COLLECTIVE_VARIABLES = CollectiveVariables(
    prefixes={"TORCH_NCCL_": "TORCH_CNCL_", "NCCL_": "CNCL_"},
    # torch_mlu reads three of them under the names that they had before PyTorch 2.2.
    renames={
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "CNCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_BLOCKING_WAIT": "CNCL_BLOCKING_WAIT",
        "TORCH_NCCL_DESYNC_DEBUG": "CNCL_DESYNC_DEBUG",
    },
    known={"TORCH_NCCL_": frozenset(("AVOID_RECORD_STREAMS",))},
    ignored=("NCCL_VERSION", "NCCL_HOME", "NCCL_ROOT", "NCCL_INCLUDE", "NCCL_LIB"),
)

_ALLOCATOR = Allocator(
    name="torch_mlu",
    variable="PYTORCH_MLU_ALLOC_CONF",
    options={
        "expandable_segments": ("True", "False"),
        "garbage_collection_threshold": (),
        "max_split_size_mb": (),
        "roundup_power2_divisions": (),
        "use_linear_memory": ("True", "False"),
    },
)

MLU = Backend(
    name="mlu",
    device_type="mlu",
    adapter="torch_mlu",
    namespace="mlu",
    visible_devices="MLU_VISIBLE_DEVICES",
    names=_NAMES,
    native=Native(module="torch_mlu._MLUC", spellings={"mlu": "cuda", "Mlu": "Cuda", "MLU": "Cuda", "cncl": "nccl"}),
    collectives=Collectives(names={"nccl": "cncl"}, variables=_COLLECTIVE_VARIABLES),
    graphs=Graphs(),
    allocator=_ALLOCATOR,
    simulator="musasim",
)

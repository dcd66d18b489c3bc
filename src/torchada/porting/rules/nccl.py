"""NCCL: ncclAllReduce, NCCL_UNIQUE_ID_BYTES."""

from torchada.porting.rules.library import Library

NCCL = Library(
    "NCCL",
    names=(r"nccl[A-Z]\w*", r"NCCL_\w*"),
    spellings={"nccl": "mccl", "NCCL": "MCCL"},
    absent={
        r"nccl(?:Mem(?:Alloc|Free)|CommWindow\w*|Dev[A-Z]\w*|CommRegister|CommDeregister)": "newer than the NCCL that MCCL follows",
    },
    header_names=(r"nccl\.h",),
)

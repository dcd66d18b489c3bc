"""cuRAND, host and device: curandCreateGenerator, curand_init, CURAND_RNG_PSEUDO_DEFAULT."""

from torchada.porting.rules.library import Library

CURAND = Library(
    "cuRAND",
    names=(r"_*curand4?(?:[A-Z_]\w*)?", r"CURAND\w*"),
    spellings={"curand": "murand", "CURAND": "MURAND"},
    headers={"curand_philox4x32_x.h": "murand_philox4x32_10.h"},
    header_names=(r"curand(?:_(?!philox)\w+)?\.h",),
    is_closed=True,
)

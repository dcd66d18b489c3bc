"""NPP: nppiResize_8u_C3R, NPP_SUCCESS, NppStatus."""

from torchada.porting.rules.library import Library

NPP = Library(
    "NPP",
    names=(r"npp[is]?[A-Z]\w*|npps10Log10\w*", r"NPP[IS]?_\w+", r"Npp\w+"),
    spellings={"npp": "mtpp", "NPP": "MTPP", "Npp": "Mtpp"},
    words={"NPP_HALF_TO_NPP16F": "MTPP_HALF_TO_NPP16F"},
    header_names=(r"npp(?:|core|defs|i|s)\.h", r"npp[is]_\w+\.h"),
)

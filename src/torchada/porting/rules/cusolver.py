"""cuSOLVER: cusolverDnCreate, CUSOLVER_STATUS_SUCCESS."""

from torchada.porting.rules.library import Library

CUSOLVER = Library(
    "cuSOLVER",
    names=(r"cusolver(?:[A-Z]\w*|_int_t)", r"CUSOLVER\w*"),
    spellings={"cusolver": "musolver", "CUSOLVER": "MUSOLVER"},
    header_names=(r"cusolver(?:Dn|Mg|Rf|Sp|Sp_LOWLEVEL_PREVIEW|_common)\.h",),
    is_closed=True,
)

"""cuFFT: cufftPlan1d, CUFFT_FORWARD."""

from torchada.porting.rules.library import Library

CUFFT = Library(
    "cuFFT",
    names=(r"cufft[A-Z]\w*", r"CUFFT\w*"),
    spellings={"cufft": "mufft", "CUFFT": "MUFFT"},
    header_names=(r"cufft(?:|Xt|w)\.h",),
    is_closed=True,
)

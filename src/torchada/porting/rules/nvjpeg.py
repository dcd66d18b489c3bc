"""nvJPEG: nvjpegDecode, NVJPEG_STATUS_SUCCESS."""

from torchada.porting.rules.library import Library

NVJPEG = Library(
    "nvJPEG",
    names=(r"nvjpeg[A-Z]\w*", r"NVJPEG\w*"),
    spellings={"nvjpeg": "mtjpeg", "NVJPEG": "MTJPEG"},
    header_names=(r"nvjpeg\.h",),
)

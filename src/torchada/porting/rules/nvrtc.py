"""NVRTC: nvrtcCompileProgram, NVRTC_SUCCESS."""

from torchada.porting.rules.library import Library

NVRTC = Library(
    "NVRTC",
    names=(r"nvrtc[A-Z]\w*", r"NVRTC\w*"),
    spellings={"nvrtc": "mtrtc", "NVRTC": "MTRTC"},
    absent={
        r"nvrtcGet(?:CUBIN|PTX|NVVM|LTOIR|OptiXIR)\w*": "MUSA has another machine code; mtrtc's name for its image is not known",
    },
    header_names=(r"nvrtc\.h",),
)

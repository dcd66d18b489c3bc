"""cuFile, which is GPUDirect Storage: cuFileRead, CUfileDescr_t, CU_FILE_SUCCESS."""

from torchada.porting.rules.library import Library

CUFILE = Library(
    "cuFile",
    # FlexKV and LMCache call muFile by these names; no table of the vendor's has it.
    names=(r"cuFile[A-Z]\w*", r"CUfile[A-Z]\w*", r"CU_FILE_\w+", r"CUFILE_\w+"),
    spellings={"CUFILE_": "MUFILE_", "NVFS": "MTFS"},
    unlike={
        r"cuFile\w+|CUfile\w+|CU_?FILE_\w+": (
            "muFile is known by programs that call it, not by its header; its errors have no cu_err"
        ),
    },
    headers={"cufile.h": "mufile.h"},
)

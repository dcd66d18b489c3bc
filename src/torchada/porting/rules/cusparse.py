"""cuSPARSE: cusparseSpMM, CUSPARSE_OPERATION_TRANSPOSE."""

from torchada.porting.rules.library import Library

CUSPARSE = Library(
    "cuSPARSE",
    names=(r"cusparse[A-Z]\w*", r"CUSPARSE\w*"),
    spellings={"cusparse": "musparse", "CUSPARSE": "MUSPARSE"},
    header_names=(r"cusparse(?:|_v2)\.h",),
    is_closed=True,
)

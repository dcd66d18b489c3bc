"""cuDNN: cudnnCreate, CUDNN_DATA_HALF."""

from torchada.porting.rules.library import Library

CUDNN = Library(
    "cuDNN",
    names=(r"cudnn[A-Z]\w*|cudnn_version", r"CUDNN\w*"),
    spellings={"cudnn": "mudnn", "CUDNN": "MUDNN"},
    unlike={
        r"cudnn\w+|CUDNN_\w+": "muDNN's interface is C++ (musa::dnn): the name follows the table, the call may not compile",
    },
    header_names=(r"cudnn\.h",),
    absent_headers={r"cudnn_(?:frontend|backend|ops|cnn|adv|graph)\w*\.h": "muDNN has one header, mudnn.h"},
    is_closed=True,
)

"""`experts_alone.py PROGRAM ...`: a program of Megatron-LM with experts, where TransformerEngine is not installed.

Megatron core 0.16 asks whether the router's product is TransformerEngine's by a name that it has with TransformerEngine alone, and
ends in a NameError without it, whatever the device is.
"""

import os
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))

from megatron.core.transformer.moe import moe_utils  # noqa: E402

if not hasattr(moe_utils, "te_general_gemm"):
    moe_utils.te_general_gemm = None

runpy.run_path(sys.argv[0], run_name="__main__")

"""The adapters that are chosen where they are installed: each of our backends, in order of preference, with its adapter module.

Start-up watches the same modules from a table of its own, because it imports nothing; a test holds the two equal.
"""

ADAPTERS = {"musa": "torch_musa", "npu": "torch_npu", "mlu": "torch_mlu"}

"""What the applied patches answer inside compiled code: programs that use them, and patches that compiled code does not reach.

`python -m support.compiled cuda eager` runs every program as CUDA code in a redirected process, `python -m support.compiled musa
eager` the same programs, with their "cuda" read as "musa", in a process without torchada; each writes what it saw as JSON.
"""

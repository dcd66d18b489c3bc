"""Which names of torch.cuda work on MUSA, and how: observed by using each of them.

The result is written to docs/reference/compatibility.md.

`python -m scripts.compatibility` looks at the installed torch and writes; `--check` compares with what was written, for CI.
"""

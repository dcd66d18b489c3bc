"""CUDA extensions built for another accelerator by their own setup.py. See docs/how-to/extensions.md.

Torch's build machinery stays in charge. What reaches a compiler is changed on the way: sources are ported into the build folder,
flags and libraries are translated, and `$CUDA_HOME/bin/nvcc` is our own program, which ports and calls the accelerator's compiler.
"""

"""Code generation: C++ kernels, and the Python that calls them on the right device."""

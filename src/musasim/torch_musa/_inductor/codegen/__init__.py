"""Code generation: C++ kernels, and the Python code that calls them on the right device."""

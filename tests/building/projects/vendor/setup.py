"""A project that has MUSA sources beside its CUDA ones knows what it builds."""

from setuptools import setup
from torch_musa.utils.musa_extension import BuildExtension, MUSAExtension

setup(
    name="vendor",
    ext_modules=[MUSAExtension("vendor", ["kernel.mu"], libraries=["musart"])],
    cmdclass={"build_ext": BuildExtension},
)

"""Calls the compiler itself, without torch's BuildExtension."""

import os
import subprocess

from setuptools import Command, setup
from torch.utils.cpp_extension import CUDA_HOME

NVCC = os.path.join(CUDA_HOME, "bin", "nvcc")


class Build(Command):
    user_options = [("inplace", None, "")]
    boolean_options = ["inplace"]

    def initialize_options(self):
        self.inplace = False

    def finalize_options(self):
        pass

    def run(self):
        os.makedirs("build", exist_ok=True)
        common = [NVCC, "-O2", "-Xcompiler", "-fPIC", "-arch=sm_80", "-Isrc/include", "-ccbin", "g++"]
        subprocess.run([*common, "-MD", "-c", "src/kernel.cu", "-o", "build/kernel.o"], check=True)
        subprocess.run([*common, "-c", "src/host.cc", "-o", "build/host.o"], check=True)
        subprocess.run([NVCC, "-shared", "build/kernel.o", "build/host.o", "-o", "direct.so", "-lcudart"], check=True)


setup(name="direct", cmdclass={"build_ext": Build})

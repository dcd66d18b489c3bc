"""What builds C++ extensions for a backend: its part of the descriptor."""

from __future__ import annotations

from torchada.backends.record import Record


class Toolkit(Record):
    """The vendor's toolkit, the counterpart of NVIDIA's CUDA toolkit.

    variables: the environment variables that name its folder, in order of preference.
    usual_home: its folder unless a variable names another.
    runtime: the library of its runtime, the counterpart of cudart, as the linker's -l takes it.
    lister: the program in its bin that lists the devices of the machine.
    dnn_variables: the environment variables that name the folder of the neural network library.
    """

    variables: tuple[str, ...]
    usual_home: str
    runtime: str
    lister: str
    dnn_variables: tuple[str, ...] = ()


class Compiler(Record):
    """The toolkit's compiler, the counterpart of nvcc.

    program: its name in the toolkit's bin.
    variable: the environment variable that names another program instead.
    language: the value of its option -x for device code.
    suffix: of source files in that language (".mu").
    arch_flag: its option for one architecture, with {} for the number ("--offload-arch=mp_{}").
    arch_variable: the environment variable that lists architectures to compile for, as TORCH_CUDA_ARCH_LIST does.
    target_variable: the environment variable that names one architecture in place of the toolkit's lister.
    """

    program: str
    variable: str
    language: str
    suffix: str
    arch_flag: str
    arch_variable: str
    target_variable: str


class Build(Record):
    """What builds extensions: the adapter's own tools, over a toolkit and its compiler.

    module: the adapter's counterpart of torch.utils.cpp_extension. Its functions include_paths and library_paths are used.
    home: the attribute of that module with the toolkit's folder, or None.
    keyword: the keyword with which its functions return the toolkit's folders, the counterpart of torch's `device_type`.
    libraries: the adapter's own libraries, which extensions are linked with.
    toolkit, compiler: the parts above.
    """

    module: str
    home: str
    keyword: str
    libraries: tuple[str, ...]
    toolkit: Toolkit
    compiler: Compiler

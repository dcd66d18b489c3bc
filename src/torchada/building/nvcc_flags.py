"""The equivalents of nvcc's flags for a compiler derived from clang: data, and nothing else.

Flags that both have (-c, -o, -O2, -g, -std, -I, -D, -L, -shared, -fPIC, -W...) are left out, and passed on.
"""

from __future__ import annotations

# Other spellings of the same flag. A value that follows, or comes after "=", stays where it is.
SPELLINGS = {
    "--std": "-std",
    "--compile": "-c",
    "--preprocess": "-E",
    "--shared": "-shared",
    "--debug": "-g",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-path": "-I",
    "--system-include": "-isystem",
    "-pre-include": "-include",
    "--pre-include": "-include",
    "--library": "-l",
    "--library-path": "-L",
    "--optimize": "-O",
    "--output-file": "-o",
    "--generate-dependencies": "-M",
    "--generate-nonsystem-dependencies": "-MM",
    "--generate-dependencies-with-compile": "-MD",
    "--generate-nonsystem-dependencies-with-compile": "-MMD",
    "--dependency-output": "-MF",
    "--dependency-target-name": "-MT",
    "--verbose": "-v",
    "--dryrun": "-###",
    "-dryrun": "-###",
    "--disable-warnings": "-w",
    "--save-temps": "-save-temps",
    "--x": "-x",
}

# The equivalent of each flag. "=value" marks those where only that value has this meaning.
REPLACED: dict[str, tuple[str, ...]] = {
    "--use_fast_math": ("-ffast-math",),
    "--ftz=true": ("-fmusa-flush-denormals-to-zero",),
    "--fmad=false": ("-ffp-contract=off",),
    "--relocatable-device-code=true": ("-fgpu-rdc",),
    "--rdc=true": ("-fgpu-rdc",),
    "--device-c": ("-fgpu-rdc", "-c"),
    "-dc": ("-fgpu-rdc", "-c"),
    "--device-w": ("-c",),
    "-dw": ("-c",),
    "--device-link": ("-dlink",),
    "--default-stream=per-thread": ("-DMUSA_API_PER_THREAD_DEFAULT_STREAM",),
    "--device-debug": ("-g",),
    "-G": ("-g",),
    "-lineinfo": ("-g1",),
    "--generate-line-info": ("-g1",),
    "--Werror=all-warnings": ("-Werror",),
    "--extensible-whole-program": ("-fgpu-rdc",),
}

# Not passed on, without a notice: this is so here anyway, or the other value would be.
NOT_NEEDED = frozenset(
    {
        "--expt-relaxed-constexpr",
        "--expt-extended-lambda",
        "--extended-lambda",
        "--ftz",
        "--fmad",
        "--rdc",
        "--relocatable-device-code",
        "--default-stream",
        "--forward-unknown-to-host-compiler",
        "--forward-unknown-to-host-linker",
        "--forward-unknown-opts",
        "--allow-unsupported-compiler",
        "--machine",
        "-m64",
        "--cudart",
        "--cudadevrt",
        "--use-local-env",
        "--Werror",
    }
)

# Not passed on, with one notice that gives the reason.
_PTXAS = "it is for the assembler of NVIDIA's machine code"
_FRONT = "it is for a part of nvcc"
DROPPED = {
    "--threads": "the compiler has one architecture's code to make at a time",
    "--split-compile": "the compiler does not split a file",
    "--split-compile-extended": "the compiler does not split a file",
    "--ptxas-options": _PTXAS,
    "-Xptxas": _PTXAS,
    "--maxrregcount": "registers are not limited by a flag; __launch_bounds__ does so for a kernel",
    "--ccbin": "the compiler compiles for the host itself",
    "--compiler-bindir": "the compiler compiles for the host itself",
    "--dlink-time-opt": "there is no optimization at device link time",
    "-dlto": "there is no optimization at device link time",
    "-lto": "there is no optimization at device link time",
    "--prec-div": "divisions are as exact as the compiler makes them",
    "--prec-sqrt": "square roots are as exact as the compiler makes them",
    "--extra-device-vectorization": "the compiler decides on vectorization",
    "--restrict": "pointers are restricted by __restrict__ only",
    "--res-usage": "usage of registers is not reported",
    "--resource-usage": "usage of registers is not reported",
    "--keep": "intermediate files are kept by -save-temps",
    "--keep-dir": "intermediate files are kept by -save-temps",
    "--objdir-as-tempdir": "intermediate files are kept by -save-temps",
    "--source-in-ptx": "there is no PTX",
    "--diag-suppress": _FRONT,
    "--diag-error": _FRONT,
    "--diag-warn": _FRONT,
    "--display-error-number": _FRONT,
    "--no-display-error-number": _FRONT,
    "--Wno-deprecated-gpu-targets": "it is about NVIDIA's architectures",
    "-Xcudafe": _FRONT,
    "-Xcicc": _FRONT,
    "-Xnvlink": _FRONT,
    "--nvlink-options": _FRONT,
    "-Xfatbin": _FRONT,
    "--time": "time is not reported",
    "--profile": "use -pg for the host",
    "--compress-mode": "code is not compressed",
    "--no-compress": "code is not compressed",
    "--static-global-template-stub": "kernels are visible as C++ says",
    "--device-entity-has-hidden-visibility": "kernels are visible as C++ says",
    "--jump-table-density": "the compiler decides on jump tables",
    "--Ofast-compile": "there is one way to compile",
    "--fdevice-time-trace": "time is not reported",
    "--fdevice-syntax-only": _FRONT,
    "--minimal": _FRONT,
    "--brief-diagnostics": _FRONT,
}

# Refused, because leaving such a flag out would change what a build produces.
_PTX = "it asks for NVIDIA's machine code, which no other device runs; compile with -c"
REFUSED = {
    "--ptx": _PTX,
    "--cubin": _PTX,
    "--fatbin": _PTX,
    "--optix-ir": _PTX,
    "--ltoir": _PTX,
    "--run": "start the program yourself",
}

# These name NVIDIA's architectures; see torchada.building.architectures.
ARCHITECTURE = frozenset({"--gpu-architecture", "--gpu-code", "--generate-code"})
# Their values are flags for the host's compiler, separated by commas; here it is the same compiler.
HOST = frozenset({"--compiler-options", "-Xcompiler"})

# nvcc also accepts long names with one dash, and has short names.
SHORT = {
    "-t": "--threads",
    "-ccbin": "--ccbin",
    "-arch": "--gpu-architecture",
    "-code": "--gpu-code",
    "-gencode": "--generate-code",
    "-ewp": "--extensible-whole-program",
    "-extended-lambda": "--extended-lambda",
    "-time": "--time",
    "-m": "--machine",
}
# Flags of the tables above whose value is the next argument, unless "=" follows.
WITH_VALUE = frozenset(
    {
        "--threads",
        "--split-compile",
        "--split-compile-extended",
        "--ptxas-options",
        "-Xptxas",
        "--maxrregcount",
        "--ccbin",
        "--compiler-bindir",
        "--prec-div",
        "--prec-sqrt",
        "--keep-dir",
        "--diag-suppress",
        "--diag-error",
        "--diag-warn",
        "-Xcudafe",
        "-Xcicc",
        "-Xnvlink",
        "--nvlink-options",
        "-Xfatbin",
        "--time",
        "--compress-mode",
        "--ftz",
        "--fmad",
        "--rdc",
        "--relocatable-device-code",
        "--default-stream",
        "--machine",
        "--cudart",
        "--cudadevrt",
        "--Werror",
        "--jump-table-density",
        "--Ofast-compile",
        "--fdevice-time-trace",
        *ARCHITECTURE,
        *HOST,
    }
)
# Flags of both compilers whose value is the next argument.
PASSED_WITH_VALUE = frozenset(
    {"-o", "-x", "-I", "-D", "-U", "-L", "-l", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"}
    | {"-MF", "-MT", "-MQ", "-Xlinker", "-Xclang", "-Xpreprocessor", "-mllvm", "-z", "-u", "-T", "-std", "-O"}
)

"""What the problems stand for that the doctor names."""

from __future__ import annotations

from torchada.report.explanations import Explanation

_ARROW = "`torchada doctor` says behind the arrow what to do on this machine."
# The check, what it says, and why that matters.
_TEXTS = {
    "adapter": (
        "No adapter module is installed.",
        "Without one there is no device to redirect to, and torch stays as it is.",
    ),
    "adapter-absent": (
        "This machine has devices of Moore Threads, and no torch_musa.",
        "Nothing is redirected without it.",
    ),
    "adapter-broken": ("The adapter module cannot be imported.", "Programs run without the device, mostly on the CPU."),
    "adapter-hangs": ("Importing the adapter module does not end.", "Every program would wait in the same place."),
    "area-failed": (
        "A part of torch could not be redirected.",
        "It is left as torch has it; the other parts are redirected.",
    ),
    "autoload": (
        "torch loads an adapter by itself that cannot be loaded.",
        "`import torch` fails then, with torchada and without.",
    ),
    "companion-cuda": (
        "torchvision or torchaudio is a wheel for CUDA.",
        "Its operators are compiled for another torch, and cannot be loaded.",
    ),
    "compiler-absent": ("The toolkit has no mcc.", "CUDA extensions cannot be built."),
    "devices-hidden": ("A variable hides every device.", "The adapter sees none, so programs that ask run on the CPU."),
    "devices-none": ("The adapter sees no device.", "Programs that ask run on the CPU, others end in an error."),
    "disabled": ("TORCHADA_DISABLE is set.", "Nothing is redirected."),
    "doctor": ("A check of the doctor itself failed.", "What it looks at is not known."),
    "driver-absent": ("No driver of Moore Threads is loaded.", "The adapter finds no device without it."),
    "host-compiler-absent": (
        "There is no C++ compiler.",
        "Device strings are translated in Python then, which is slower.",
    ),
    "mechanism": (
        "Device strings are translated by the portable mechanism.",
        "Each call that takes a device costs a little more than natively.",
    ),
    "nodes-absent": ("There is no /dev/mtgpu*.", "Without it no process can use the device."),
    "nodes-closed": ("This user may not open the device nodes.", "The driver refuses the process."),
    "other-redirection": (
        "Another package redirects torch.cuda as well.",
        "Which of them answers depends on who came last.",
    ),
    "pair-python": ("The vendor's wheels are for another Python.", "They cannot be installed here."),
    "pair-sdk": ("torch_musa was published for another MUSA SDK.", "Its libraries may lack functions that it calls."),
    "pair-torch": ("torch_musa belongs to another torch.", "It is compiled against that one, and cannot be loaded."),
    "problem": ("torchada met a fault in a process like this one.", "A part of it is not in force."),
    "sdk-absent": ("The MUSA SDK is not found.", "The adapter needs its libraries, and builds its compiler."),
    "startup-absent": (
        "No start-up file is read.",
        "Programs are redirected only after `import torchada` or by `torchada run`.",
    ),
    "startup-broken": (
        "A start-up file is damaged.",
        "The interpreter says so at each start, and nothing is redirected.",
    ),
    "startup-twice": ("There are start-up files in two places.", "They may belong to different versions."),
    "status-broken": ("Importing torch with torchada fails.", "No program of this environment can use torch."),
    "torch-absent": ("torch is not installed.", "There is nothing to redirect."),
    "torch-broken": ("torch cannot be imported.", "No program can use it, with torchada or without."),
    "torch-hangs": ("Importing torch does not end.", "Every program would wait in the same place."),
    "torch-hidden": ("A file of this folder has the name of a package.", "Programs that start here import the file."),
    "torch-mixed": ("torch's files and its metadata are of different versions.", "Two installations lie in one place."),
    "torch-twice": ("torch is installed more than once.", "Which one is imported depends on the path."),
    "torchada-mixed": (
        "torchada's files and its metadata are of different versions.",
        "Two installations lie in one place.",
    ),
    "torchada-twice": (
        "torchada is installed more than once.",
        "The start-up file and the package may be of different versions.",
    ),
    "transfer-to-npu": ("transfer_to_npu is active.", "It redirects torch.cuda to Ascend's devices."),
    "triton-foreign": ("Triton is not the vendor's.", "It compiles no kernel for MUSA."),
    "two-adapters": ("Adapters of two vendors are installed.", "PyTorch has room for one."),
    "variable-not-understood": ("A variable has a value that it does not take.", "The default is used in its place."),
    "variable-unknown": ("A variable begins with TORCHADA_ and is none of torchada's.", "It has no effect."),
    "wrapt-absent": ("wrapt is not installed.", "torchada needs it."),
}
EXPLANATIONS = tuple(
    Explanation(code, "doctor", meaning, why, _ARROW, "how-to/doctor.md") for code, (meaning, why) in _TEXTS.items()
)

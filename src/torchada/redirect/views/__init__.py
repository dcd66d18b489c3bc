"""Who asks? Code that knows CUDA alone sees CUDA, and code that knows MUSA sees the backend.

Programs ask torch where they run: `torch.cuda.is_available()`, `device.type == "cuda"`, `torch.version.cuda`. What they are told
depends on the module that asks, which the globals of the asking frame name. The decision is made once for each top-level package.

- `view.py`: the decisions of a process, and a table by module for the mechanisms that ask at each call.
- `asker.py`: from the globals of a frame to the package that they belong to.
- `rules.py`: the reasons for a decision, in order.
- `known.py`: packages that are decided by hand, each with its reason.
- `sources.py`: whether the Python sources of a package mention MUSA.
- `chosen.py`: what a program has said by `torchada.set_view`.
"""

from torchada.redirect.views.rules import Decision
from torchada.redirect.views.view import Views

__all__ = ["Decision", "Views"]

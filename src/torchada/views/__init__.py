"""Who asks? Code that knows CUDA alone sees CUDA, and code that knows MUSA sees the backend.

Programs ask torch where they run: `torch.cuda.is_available()`, `device.type == "cuda"`, `torch.version.cuda`. What they see
depends on the module that asks, which the globals of the asking frame name. The decision is made once for each top-level package.

- `view.py`: what the mechanisms ask at each call.
- `state.py`: what the process knows, with a table of the answers by module, and what a program has said by `torchada.set_view`.
- `decider.py`: what decides for modules that are not in the table, loaded at the first question.
- `asking.py`: what a frame shows of the code that asks.
- `asker.py`: from the globals of a frame to the package that they belong to.
- `rules.py`: the reasons for a decision, in order.
- `tracing.py`: the function that torch.compile is tracing, which asks where torch evaluates its expressions.
- `by_name.py`: packages that are decided by hand, each with its reason.
- `askers_for_others.py`: modules of torch that ask for the program.
- `sources.py`, `patterns.py`: whether the Python sources of a package mention MUSA.
- `source_cache.py`, `distributions.py`: what was found in the sources of an installed package, kept for later processes.
"""

from torchada.views.view import Views

__all__ = ["Views"]

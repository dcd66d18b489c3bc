"""SGLang's engine, with options in JSON: the greedy tokens that it generates for prompts in JSON."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """SGLang starts processes that import this file."""
    import sglang

    folder, prompts, options = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    engine = sglang.Engine(
        model_path=folder,
        dtype="float32",
        sampling_backend="pytorch",
        max_total_tokens=2048,
        max_running_requests=4,
        mem_fraction_static=0.3,
        decode_log_interval=1,
        log_level="info",  # says of each batch whether a graph was replayed
        **options,
    )
    sampling = {"temperature": 0, "max_new_tokens": 16, "ignore_eos": True}
    outputs = engine.generate(input_ids=prompts, sampling_params=sampling)
    engine.shutdown()
    print(json.dumps([output["output_ids"] for output in outputs]))


if __name__ == "__main__":
    main()

"""vLLM's LLM, with options in JSON: what it says of the device, and the greedy tokens that it generates for prompts in JSON."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """vLLM starts processes that import this file."""
    import torch
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform
    from vllm.utils.torch_utils import cuda_device_count_stateless

    folder, prompts, options = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    said = {
        "platform": f"{type(current_platform).__module__}.{type(current_platform).__name__}",
        "count": [cuda_device_count_stateless(), current_platform.device_count()],
        "untouched": not torch.cuda.is_initialized(),
        "name": current_platform.get_device_name(),
        "bfloat16": current_platform.has_device_capability(80),
    }
    model = LLM(
        model=folder,
        dtype="float32",
        max_model_len=128,
        gpu_memory_utilization=0.05,
        num_gpu_blocks_override=64,
        **options,
    )
    sampling = SamplingParams(temperature=0, max_tokens=16, ignore_eos=True)
    outputs = model.generate([{"prompt_token_ids": each} for each in prompts], sampling, use_tqdm=False)
    said["generated"] = [list(output.outputs[0].token_ids) for output in outputs]
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()

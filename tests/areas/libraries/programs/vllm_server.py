"""vLLM's server, started by its own module, and one chat request to it over HTTP."""

from __future__ import annotations

import sys

from chat_server import free_port, print_answer

folder, content = sys.argv[1], sys.argv[2]
port = free_port()
command = ["vllm.entrypoints.openai.api_server", "--model", folder, "--port", str(port), "--host", "127.0.0.1"]
command += ["--dtype", "float32", "--max-model-len", "128"]
command += ["--gpu-memory-utilization", "0.05", "--num-gpu-blocks-override", "64"]
chat = {"model": folder, "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 16}
print_answer(command, port, {**chat, "ignore_eos": True, "add_generation_prompt": False})

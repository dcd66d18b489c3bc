"""SGLang's server, started by its own command, and one chat request to it over HTTP."""

from __future__ import annotations

import sys

from chat_server import free_port, print_answer

folder, content = sys.argv[1], sys.argv[2]
port = free_port()
command = ["sglang.launch_server", "--model-path", folder, "--port", str(port)]
command += ["--dtype", "float32", "--attention-backend", "torch_native", "--sampling-backend", "pytorch"]
command += ["--max-total-tokens", "2048", "--max-running-requests", "4", "--mem-fraction-static", "0.3"]
chat = {"model": folder, "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 16}
print_answer(command, port, {**chat, "ignore_eos": True})

"""vLLM's server, started by its own module, and one chat request to it over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

folder, content = sys.argv[1], sys.argv[2]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]


def ask(path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        text = answer.read()
    return json.loads(text) if text else None


command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--port", str(port)]
command += ["--host", "127.0.0.1", "--dtype", "float32", "--max-model-len", "128"]
command += ["--gpu-memory-utilization", "0.05", "--num-gpu-blocks-override", "64"]
server = subprocess.Popen(command, stdout=sys.stderr)
try:
    while True:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with {server.returncode}")
        try:
            ask("/health")
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(1)
    chat = {"model": folder, "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 16}
    answer = ask("/v1/chat/completions", {**chat, "ignore_eos": True, "add_generation_prompt": False})
finally:
    server.terminate()
    server.wait(timeout=60)
print(json.dumps(answer["choices"][0]["message"]["content"]))

"""One chat request over HTTP to a server that its own command starts; sglang_server.py and vllm_server.py say which."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def ask(address: str, body: dict[str, Any] | None = None) -> Any:
    """The JSON that is answered, or None for an empty answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def print_answer(command: list[str], port: int, chat: dict[str, Any]) -> None:
    """Start the server, ask as soon as it answers at all, print what it says to the chat, and end it."""
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", *command], stdout=sys.stderr)
    try:
        while True:
            if server.poll() is not None:
                raise SystemExit(f"the server ended with {server.returncode}")
            try:
                ask(f"{address}/health")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(1)
        answer = ask(f"{address}/v1/chat/completions", chat)
    finally:
        server.terminate()
        server.wait(timeout=60)
    print(json.dumps(answer["choices"][0]["message"]["content"]))

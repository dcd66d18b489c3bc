"""`elastic_nodes.py STEPS`: starts torchrun for two nodes, then for a third, and ends that one again, as elastic.py asks for it."""

import os
import signal
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Node:
    """An agent of torchrun with one rank, on a machine of its own as far as torchrun knows."""

    def __init__(self, port, steps, heard):
        self.process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "torch.distributed.run",
                    "--nnodes=2:3",
                    "--nproc-per-node=1",
                    "--max-restarts=5",
                ),
                *("--rdzv-backend=c10d", "--rdzv-id=7", f"--rdzv-endpoint=127.0.0.1:{port}", "--local-addr=127.0.0.1"),
                *("--rdzv-conf=last_call_timeout=2", "--monitor-interval=0.5", os.path.join(HERE, "elastic.py"), steps),
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.heard = heard
        self.ear = threading.Thread(target=self.listen)
        self.ear.start()

    def listen(self):
        for line in self.process.stdout:
            print(line, end="", flush=True)
            self.heard(line)
        self.heard("")


def main(steps):
    port = free_port()
    three, two = threading.Event(), threading.Event()

    def heard(line):
        if (
            "waits for 3 ranks" in line or not line
        ):  # an agent that has ended says nothing more: nothing is waited for any longer
            three.set()
        if "waits for 2 ranks" in line or not line:
            two.set()

    nodes = [Node(port, steps, heard), Node(port, steps, heard)]
    three.wait()
    third = Node(port, steps, heard)
    two.wait()
    third.process.send_signal(signal.SIGTERM)
    third.ear.join()
    for node in nodes:
        node.ear.join()
    return max(abs(node.process.wait()) for node in nodes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

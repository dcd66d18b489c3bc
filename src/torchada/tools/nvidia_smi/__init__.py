"""The command nvidia-smi, as programs parse it: `--query-gpu` and `-L`, with the figures of the vendor's own command."""

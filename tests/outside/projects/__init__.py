"""CUDA extensions that others wrote, built by their own unchanged setup.py, and checked. `../README.md` tells how."""

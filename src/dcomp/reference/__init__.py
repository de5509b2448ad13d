"""The algorithms in plain NumPy: what a newcomer reads, and what the kernels are tested on."""

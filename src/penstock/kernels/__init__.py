"""Inner loops: arrays in, arrays out, no knowledge of anything else."""

"""Where an iteration stands, as plain data: what a state says, and whether it fits a pipeline."""

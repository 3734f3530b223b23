"""The declared pipeline: the contract of an op, the plan, the passes, and how they are explained."""

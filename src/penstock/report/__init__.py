"""Numbers to text: what a run held and how long it took, and what a plan will do."""

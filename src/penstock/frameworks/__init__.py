"""What feeds a framework: one file each, loaded when it is first asked for."""

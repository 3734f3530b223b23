"""What running ops are built of: no ops themselves."""

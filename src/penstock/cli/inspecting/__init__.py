"""What `penstock inspect` is built of: one file a format, and what they find."""

"""What flows inside: columns, blocks, the structure of an element, and its spec."""

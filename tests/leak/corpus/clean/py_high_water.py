"""Sizes that rise for a while: the allocator keeps its high water."""

blocks = []
for step in range(12000):
    size = min(step, 3000) // 10 + 10
    blocks = [bytes(400 + size) for _ in range(size)]
    if step > 6000:
        blocks = blocks[: len(blocks) // 2]
print(len(blocks))

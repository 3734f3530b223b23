"""A total that adds up losses, and their graphs with them."""

# kind: torch-graph
# line: 16
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)


def evaluate(steps):
    total = torch.zeros(())
    for step in range(steps):
        x = torch.randn(64, 64)
        y = model(x)
        total = total + (y * y).mean()  # <-
    return total


print(float(evaluate(2500)))

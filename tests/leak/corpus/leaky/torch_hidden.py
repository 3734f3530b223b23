"""A hidden state that is handed on with its history."""

# kind: torch-graph
# line: 12
import torch

torch.set_num_threads(1)
cell = torch.nn.GRUCell(16, 32)
hidden = torch.zeros(8, 32)
for step in range(3000):
    x = torch.randn(8, 16)
    hidden = cell(x, hidden)  # <-
    if step % 100 == 0:
        print(step, float(hidden.sum()))

"""Gradients that have a graph of their own, and are added up for ever."""

# kind: torch-graph
# line: 11
import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 40), nn.Softplus(), nn.Linear(40, 1))
for _step in range(800):
    loss = model(torch.randn(64, 20)).square().mean()
    loss.backward(create_graph=True)  # <-
    with torch.no_grad():
        for weight in model.parameters():
            weight -= 1e-6 * weight.grad

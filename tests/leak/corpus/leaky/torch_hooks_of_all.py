"""A hook for all modules is registered at every evaluation."""

# kind: torch-hooks
# line: 13
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

shapes = {}


def evaluate(model, x):
    register_module_forward_hook(lambda module, _inputs, out: shapes.update({type(module): out.shape}))  # <-
    with torch.no_grad():
        return float(model(x).mean())


model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 32)
for step in range(1000):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if step % 2 == 0:
        evaluate(model, x)

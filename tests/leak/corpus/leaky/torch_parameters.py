"""Parameters that are added to the optimizer at every step."""

# kind: torch-tensors
# line: 12
import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.randn(100, 100))
optimizer = torch.optim.SGD([weight], lr=0.01)
for step in range(700):
    extra = torch.nn.Parameter(torch.randn(50, 50))
    optimizer.add_param_group({"params": [extra]})  # <-
    loss = (weight**2).mean() + (extra**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(optimizer.param_groups))

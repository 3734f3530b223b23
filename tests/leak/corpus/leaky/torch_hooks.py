"""A hook is registered at every step."""

# kind: torch-hooks
# line: 19
import torch

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
seen = {}


def watch(module, args, output):
    seen["last"] = float(output.mean())


def train(steps):
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(steps):
        model[0].register_forward_hook(watch)  # <-
        loss = model(torch.randn(16, 32)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(300)
print(seen)

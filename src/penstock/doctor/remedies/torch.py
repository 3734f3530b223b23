"""Remedies for PyTorch."""

from __future__ import annotations

from penstock.doctor.remedies import DICTS, Remedy

REMEDIES = [
    Remedy(
        kind="torch-graph",
        title="Tensors are kept with the graph that made them",
        why=(
            "A tensor that needs a gradient refers to every tensor it was computed from. Adding up losses, "
            "or keeping hidden states, makes that graph longer at every step."
        ),
        fix="Keep a number with `.item()`, or cut the graph with `.detach()`.",
        sample="losses.append(loss.item())  # was: losses.append(loss)\nhidden = hidden.detach()",
        name="losses",
        samples={
            **dict.fromkeys(DICTS, "losses[key] = loss.item()  # was: losses[key] = loss"),
            "Tensor": "losses = losses.detach()  # or a number: losses.item()",
        },
        bad="total = total + loss  # and the graph of every step\nlosses.append(loss)",
        seen=(
            "Containers whose members have a `grad_fn`, and the depth of the longest graph that hangs on a "
            "tensor."
        ),
        other=(
            "A graph that is cut every few steps (`detach`, truncated backpropagation) goes up and down. One "
            "that is made anew at each step, longer because the sequences or the episodes are, is no leak."
        ),
    ),
    Remedy(
        kind="torch-tensors",
        title="Tensors are kept",
        why="Each tensor that is kept keeps its memory.",
        fix="Keep a number with `.item()`, copy what is small, or write it to a file.",
        sample="outputs.append(out.mean().item())  # was: outputs.append(out)",
        name="outputs",
        samples=dict.fromkeys(DICTS, "outputs[key] = out.mean().item()  # was: outputs[key] = out"),
        bad="outputs.append(model(x).detach())",
        seen="Tensors that a container of yours keeps, parameter groups of an optimizer too.",
        other="`.item()` keeps a number.",
    ),
    Remedy(
        kind="torch-hooks",
        title="A hook is registered at every step",
        why=(
            "Each hook stays on its module until it is removed, is called at every step, and keeps what it "
            "refers to."
        ),
        fix="Register it once, or remove it when done.",
        sample="handle = layer.register_forward_hook(hook)  # once\n...\nhandle.remove()",
        bad="for step in range(steps):\n    layer.register_forward_hook(hook)",
        seen="The tables of hooks on modules that a name of yours leads to, and the hooks on parameters.",
        other="A hook that is removed in the same step is no finding.",
    ),
    Remedy(
        kind="torch-compile",
        title="torch.compile compiles again and again",
        why="Each shape or Python number that is new gives a graph of its own, and each is kept.",
        fix="Pad to few shapes, pass numbers as tensors, or `dynamic=True`.",
        sample="step = torch.compile(step, dynamic=True)",
        bad="step = torch.compile(step)\nfor x in data:  # every x has another shape\n    step(x)",
        seen="`torch._dynamo.utils.counters`: how many graphs were compiled.",
        other="A few graphs for a few shapes are warm-up.",
    ),
    Remedy(
        kind="torch-cuda",
        title="Memory of the device, or pinned memory, grows",
        why="Tensors on the device, or in pinned memory, are kept.",
        fix="Keep numbers, move what is kept to the host, and use pinned buffers again.",
        sample="kept.append(out.cpu().mean().item())",
        bad="outputs.append(model(x.cuda()))",
        seen=(
            "`torch.cuda.memory_stats()` and `torch.cuda.host_memory_stats()`: what is allocated, not what "
            "is cached."
        ),
        other="What torch's allocator keeps for later is not counted.",
    ),
]

"""ResNet-50 in bf16 on one GPU: how well it is fed, and what that takes on the host.

    python -m benchmarks.gpu.resnet50 --output benchmarks/gpu/RESULTS.md

Every feed runs in a process of its own. Images a second are those of the steps after the first ones. The
share of time that the GPU waits is what the same steps take beyond those on a batch that is there already.
The host's memory is the most that the process and its workers had, each page that they share counted once,
less what the process had before the feed began; that of CUDA, which comes with the first steps, is in it.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter

from benchmarks.gpu.feeds import FEEDS
from benchmarks.gpu.pictures import made
from benchmarks.procfs import descendants, private, rss

WARM_UP = 10
MIB = 1 << 20


def train(feed: str, folder: Path, batch: int, steps: int, workers: int, watch: "Watch") -> dict[str, float]:
    """Train so many steps, and say how it went."""
    import torch
    import torchvision

    from penstock.frameworks.passing import Pass

    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet50(num_classes=10).to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    before = host_memory()
    batches = FEEDS[feed](folder, batch, workers)
    began = 0.0
    for step in range(WARM_UP + steps):
        images, labels = next(batches)
        if step == WARM_UP:
            torch.cuda.synchronize()
            began = perf_counter()
        pixels = images.permute(0, 3, 1, 2).to(torch.bfloat16).div_(127.5).sub_(1)
        with torch.autocast("cuda", torch.bfloat16):
            loss = criterion(model(pixels), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    seconds = perf_counter() - began
    peak = watch.peak
    if isinstance(batches, Pass):
        print(batches.report(), f"\non the GPU, ready: {batches.device_peak / MIB:.0f} MiB", file=sys.stderr)
        batches.close()
    return {
        "images a second": batch * steps / seconds,
        "host before": before / MIB,
        "host at most": peak / MIB,
        "loss": loss.item(),
    }


def host_memory() -> int:
    """The bytes of this process, and of its workers those that they share with nobody."""
    return rss(os.getpid()) + sum(map(private, descendants(os.getpid())))


class Watch:
    """The most memory that was seen, every half second: to look takes time itself."""

    def __init__(self) -> None:
        self.peak = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._end.wait(0.5):
            self.peak = max(self.peak, host_memory())

    def close(self) -> None:
        """Look no more."""
        self._end.set()
        self._thread.join()


def table(found: dict[str, dict[str, float]], said: argparse.Namespace) -> str:
    """The results, as they are kept."""
    import torch

    rows = [
        f"ResNet-50, bf16, batch {said.batch}, {said.steps} steps, {torch.cuda.get_device_name()}, "
        f"{os.cpu_count()} cores, torch {torch.__version__}; JPEGs of 500x375 from the page cache.",
        "",
        "| feed | images a second | the GPU waits | host memory for it, MiB |",
        "|---|---|---|---|",
    ]
    most = found.get("synthetic", {}).get("images a second")
    for name, got in found.items():
        waits = f"{max(0.0, 1 - got['images a second'] / most):.1%}" if most else "-"
        grown = got["host at most"] - got["host before"]
        rows.append(f"| {name} | {got['images a second']:,.0f} | {waits} | {grown:,.0f} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Run every feed in a process of its own, or one of them here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feed", choices=[*FEEDS], help="run this one alone, in this process")
    parser.add_argument("--feeds", nargs="+", default=[*FEEDS], choices=[*FEEDS])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--images", type=int, default=5_120)
    parser.add_argument("--workers", type=int, default=16, help="of the DataLoader")
    parser.add_argument("--output", type=Path)
    said = parser.parse_args()
    folder = made(said.images)
    if said.feed:
        watch = Watch()
        print(json.dumps(train(said.feed, folder, said.batch, said.steps, said.workers, watch)))
        watch.close()
        return
    found = {}
    for feed in said.feeds:
        command = [sys.executable, "-m", "benchmarks.gpu.resnet50", "--feed", feed]
        for name in ("batch", "steps", "images", "workers"):
            command += [f"--{name}", str(getattr(said, name))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[feed] = json.loads(done.stdout.splitlines()[-1])
        print(feed, found[feed], flush=True)
    text = table(found, said)
    print(text)
    if said.output:
        said.output.write_text(text)


if __name__ == "__main__":
    main()

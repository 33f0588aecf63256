"""One training loop, bare or with a profiler; prints its figures as one line of JSON.

python benchmarks/gpu/train.py MODEL MODE [--device cuda] [--steps N] [--out FOLDER]

MODEL: gpt (small kernels, bound by launches), resnet (larger ones), graph (a captured CUDA graph of
many small kernels). MODE: bare, tracemill, tracemill-nodes (each node of a graph), torch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

WARM_UP = 10
Step = Callable[[], Any]


class Block(nn.Module):
    """A transformer block, unfused so that it launches many small kernels."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(self.norms[0](x)).view(shape).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) * (width // self.heads) ** -0.5
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(mask, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norms[1](x))


class Gpt(nn.Module):
    """A small language model."""

    def __init__(self, words: int = 8192, width: int = 256, layers: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width, 8) for _ in range(layers)))
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.blocks(self.embed(tokens)))


class Residual(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside),
        )  # fmt: skip
        same = inside == outside and stride == 1
        self.skip = nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.skip(x))


def resnet() -> nn.Module:
    """Eighteen layers on small pictures."""
    parts: list[nn.Module] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    widths = (64, 64, 128, 128, 256, 256, 512, 512)
    for inside, outside in zip((64, *widths), widths, strict=False):
        parts.append(Residual(inside, outside, 2 if outside != inside else 1))
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100))


def training(model: nn.Module, inputs: Tensor, targets: Tensor, classes: int) -> Step:
    """A step of training on the same data."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(inputs).view(-1, classes), targets.view(-1))
        loss.backward()
        optimizer.step()

    return step


def graph_step(device: str) -> Step:
    """Replays of a graph of 400 small kernels (on a CPU: the same without a graph)."""
    x = torch.ones(1024, device=device)

    def body() -> None:
        for _ in range(200):
            x.mul_(1.0001).add_(1e-6)

    if device == "cpu":
        return body
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph.replay


def make(model: str, device: str) -> Step:
    """The step of a model."""
    torch.manual_seed(0)
    small = device == "cpu"
    if model == "gpt":
        tokens = torch.randint(0, 8192, (2 if small else 8, 33 if small else 129), device=device)
        return training(Gpt().to(device), tokens[:, :-1], tokens[:, 1:].contiguous(), 8192)
    if model == "resnet":
        pictures = torch.randn(4 if small else 128, 3, 32, 32, device=device)
        labels = torch.randint(0, 100, (len(pictures),), device=device)
        return training(resnet().to(device), pictures, labels, 100)
    return graph_step(device)


@contextlib.contextmanager
def profiled(mode: str, out: Path, found: dict[str, Any]) -> Iterator[None]:
    """Profile the block as the mode says; put size and counts into ``found``."""
    if mode != "torch":
        yield
        return
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU] + ([kinds.CUDA] if torch.cuda.is_available() else [])
    with torch.profiler.profile(activities=activities) as profiler:
        yield
    path = out / "torch.json.gz"
    begin = time.perf_counter()
    profiler.export_chrome_trace(str(path))
    found["export_s"] = time.perf_counter() - begin
    found["bytes"] = path.stat().st_size


def main() -> None:
    """Run the loop and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=["gpt", "resnet", "graph"])
    parser.add_argument("mode", choices=["bare", "tracemill", "tracemill-nodes", "torch"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path())
    arguments = parser.parse_args()
    recording = arguments.mode.startswith("tracemill")
    if recording:  # before CUDA is up, so that the recorder attaches before graphs are captured
        import tracemill

        nodes = arguments.mode == "tracemill-nodes"
        tracemill.start(output=str(arguments.out), job="gpu", max_steps=0, gpu_graph_nodes=nodes)
    cuda = arguments.device == "cuda"
    wait = torch.cuda.synchronize if cuda else lambda: None
    if cuda:
        torch.zeros(1, device="cuda")
        time.sleep(1.0 if recording else 0.0)  # the recorder looks for CUDA twenty times a second
    step = make(arguments.model, arguments.device)
    for _ in range(WARM_UP if cuda else 1):
        step()
    wait()
    found: dict[str, Any] = {"model": arguments.model, "mode": arguments.mode}
    times = []
    with profiled(arguments.mode, arguments.out, found):
        cpu = time.process_time()
        for i in range(arguments.steps):
            begin = time.perf_counter()
            if recording:
                with tracemill.step(i):
                    step()
                    wait()
            else:
                step()
                wait()
            times.append(time.perf_counter() - begin)
        found["process_cpu_ms"] = (time.process_time() - cpu) / arguments.steps * 1e3
    found["step_ms"] = statistics.median(times) * 1e3
    if recording:
        tracemill.stop()
        status = tracemill.status()
        found |= {"bytes": status["written_bytes"], "drops": status["drops"]}
        found["notices"] = status["notices"]
    found["torch"] = torch.__version__
    found["device"] = torch.cuda.get_device_name() if cuda else "cpu"
    found["pid"] = os.getpid()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""A small real training with two planted problems, for `make demo`.

A multilayer perceptron learns to tell noisy sine waves from noisy square waves, for 40 steps, in
PyTorch if it can be imported, otherwise in NumPy. Planted: step 17 does its backward pass many
times over (a slow step), and the input for steps 27 to 30 comes slowly (a slow input phase).

    tracemill record --store DIR --job demo -- python examples/demo_training.py
"""

from __future__ import annotations

import os

# One thread: on a small shared machine the steps would otherwise vary more than what is planted.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import tracemill

STEPS = 40
SLOW_STEP = 17
SLOW_STEP_REPEATS = 20
SLOW_INPUT_STEPS = range(27, 31)
SLOW_INPUT_S = 0.25
SAMPLES, BATCH, POINTS, HIDDEN = 8_192, 2_048, 256, 512


def dataset(seed: int = 7) -> tuple[Any, Any]:
    """Return signals [SAMPLES, POINTS] float32 and labels [SAMPLES] float32, 0 sine or 1 square."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, SAMPLES)
    frequency = rng.uniform(0.5, 2, (SAMPLES, 1))
    phase = rng.uniform(0, 6, (SAMPLES, 1))
    waves = np.sin(np.linspace(0, 8 * np.pi, POINTS) * frequency + phase)
    signals = np.where(labels[:, None] == 1, np.sign(waves), waves)
    signals = signals + rng.normal(0, 0.6, signals.shape)
    return signals.astype(np.float32), labels.astype(np.float32)


def batches(signals: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a batch of signals [BATCH, POINTS] and labels [BATCH] per step."""
    rng = np.random.default_rng(11)
    for step in range(STEPS):
        if step in SLOW_INPUT_STEPS:
            time.sleep(SLOW_INPUT_S)  # planted: as a slow disk or decoder would
        picked = rng.integers(0, SAMPLES, BATCH)
        yield signals[picked], labels[picked]


class Trainer(Protocol):
    """The four phases of a training step."""

    def forward(self, signals: Any) -> Any: ...
    def loss(self, output: Any, labels: Any) -> float: ...
    def backward(self) -> None: ...
    def optimize(self) -> None: ...


def train(trainer: Trainer, data: tuple[Any, Any]) -> float:
    """Run all steps and return the last loss."""
    loss = float("nan")
    for step, (signals, labels) in enumerate(batches(*data)):
        with tracemill.step(step):
            with tracemill.annotate("Forward"):
                output = trainer.forward(signals)
            with tracemill.annotate("Loss"):
                loss = trainer.loss(output, labels)
            with tracemill.annotate("Backward"):
                for _ in range(SLOW_STEP_REPEATS if step == SLOW_STEP else 1):  # planted
                    trainer.backward()
            with tracemill.annotate("Optimizer"):
                trainer.optimize()
    return loss


class NumpyTrainer:
    """The network in NumPy: one hidden layer with ReLU, logistic loss, gradient descent."""

    def __init__(self, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.w1 = rng.normal(0, POINTS**-0.5, (POINTS, HIDDEN)).astype(np.float32)
        self.w2 = rng.normal(0, HIDDEN**-0.5, (HIDDEN, 1)).astype(np.float32)

    def forward(self, signals: Any) -> Any:
        """Return logits [BATCH]."""
        self.signals = signals
        self.hidden = np.maximum(signals @ self.w1, 0)
        return (self.hidden @ self.w2)[:, 0]

    def loss(self, output: Any, labels: Any) -> float:
        """Mean logistic loss; keeps its gradient for ``backward``."""
        probability = 1 / (1 + np.exp(-output))
        self.gradient = ((probability - labels) / len(labels)).astype(np.float32)[:, None]
        picked = np.where(labels == 1, probability, 1 - probability)
        return float(-np.log(np.maximum(picked, 1e-7)).mean())

    def backward(self) -> None:
        """Gradients of both layers."""
        self.g2 = self.hidden.T @ self.gradient
        self.g1 = self.signals.T @ ((self.gradient @ self.w2.T) * (self.hidden > 0))

    def optimize(self) -> None:
        """One step of gradient descent."""
        self.w1 -= 0.5 * self.g1
        self.w2 -= 0.5 * self.g2


def torch_trainer() -> Trainer:
    """Return the same network in PyTorch; ImportError where it is not installed."""
    import torch

    class TorchTrainer:
        """The network in PyTorch with SGD."""

        def __init__(self) -> None:
            torch.manual_seed(1)
            torch.set_num_threads(1)
            layers = [torch.nn.Linear(POINTS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)]
            self.model = torch.nn.Sequential(*layers)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.5)

        def forward(self, signals: Any) -> Any:
            """Return logits [BATCH]."""
            return self.model(torch.from_numpy(signals))[:, 0]

        def loss(self, output: Any, labels: Any) -> float:
            """Mean logistic loss; kept for ``backward``."""
            target = torch.from_numpy(labels)
            self.value = torch.nn.functional.binary_cross_entropy_with_logits(output, target)
            return float(self.value)

        def backward(self) -> None:
            """Gradients, freshly computed each time."""
            self.optimizer.zero_grad()
            self.value.backward(retain_graph=True)

        def optimize(self) -> None:
            """One optimizer step."""
            self.optimizer.step()

    return TorchTrainer()


def make_trainer() -> tuple[str, Trainer]:
    """Return the framework's name and a trainer: PyTorch where there is one, else NumPy."""
    factories: dict[str, Callable[[], Trainer]] = {"PyTorch": torch_trainer, "NumPy": NumpyTrainer}
    for name, factory in factories.items():
        try:
            return name, factory()
        except ImportError:
            continue
    raise AssertionError("NumPy is always there")


def main() -> None:
    """Train under recording; `tracemill record` or TRACEMILL_AUTOSTART may have started it."""
    name, trainer = make_trainer()
    data = dataset()
    tracemill.start()
    loss = train(trainer, data)
    tracemill.stop()
    print(f"{name}: {STEPS} steps, loss {loss:.3f}")


if __name__ == "__main__":
    main()

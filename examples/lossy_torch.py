"""Accuracy and gradients of a small network over the error bound of its saved activations.

    python examples/lossy_torch.py

A convolutional network in PyTorch learns the digits that scikit-learn brings along. It is trained
once for each way to store the saved activations, from the same weights and in the same order.
"""

import argparse
import json
import time

import torch
from sklearn.datasets import load_digits
from torch import nn

from cdma.files import write_text
from cdma.tables import format_table
from cdma.torch import SavedTensors, compare

BATCH = 64
BOUNDS = (None, "rel=0.01", "rel=0.1", "rel=0.5", "rel=2")


def main() -> None:
    """Train with each bound, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--save", metavar="FILE", help="write the results there, JSON")
    args = parser.parse_args()
    epochs = args.epochs
    torch.set_num_threads(1)  # products this small lose time to more
    images, labels = _digits()
    model = _network()
    start = {name: each.clone() for name, each in model.state_dict().items()}

    def step():
        return nn.functional.cross_entropy(model(images[:BATCH]), labels[:BATCH])

    rows = compare(step, model.parameters(), BOUNDS, 15, time.process_time)
    print("One step of forward and backward pass:\n")
    print(format_table(rows, list(rows[0]), "markdown"))
    print(f"\nTest accuracy after {epochs} epochs:\n")
    accuracies = []
    for bound in ("PyTorch", *BOUNDS):
        model.load_state_dict(start)
        accuracies.append(_train(model, images, labels, epochs, bound))
    names = [row["storage"] for row in rows]
    table = [
        {"Storage": name, "Accuracy": f"{accuracy:.1%}"}
        for name, accuracy in zip(names, accuracies, strict=True)
    ]
    print(format_table(table, list(table[0]), "markdown"))
    if args.save:
        found = {"batch": BATCH, "epochs": epochs, "steps": rows, "accuracy": accuracies}
        write_text(args.save, json.dumps(found, indent=1) + "\n")


def _train(model, images, labels, epochs: int, bound) -> float:
    """Accuracy on the first fifth of the images, after training on the others."""
    test = len(images) // 5
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(1)
    for _ in range(epochs):
        order = test + torch.randperm(len(images) - test)
        for batch in order.split(BATCH):
            with torch.enable_grad() if bound == "PyTorch" else SavedTensors(bound):
                loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return (model(images[:test]).argmax(1) == labels[:test]).float().mean().item()


def _digits():
    digits = load_digits()
    torch.manual_seed(0)
    order = torch.randperm(len(digits.images))
    images = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None]  # they are 0 to 16
    return images[order], torch.tensor(digits.target)[order]


def _network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10)),
    )


if __name__ == "__main__":
    main()

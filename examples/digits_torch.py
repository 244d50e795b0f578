"""A small convolutional network in PyTorch, and how `cdma capture` sees it train.

    cdma capture --torch examples/digits_torch.py:train -o activations --figures

The images are the digits that scikit-learn brings along, enlarged to 16 x 16 pixels. It trains for
1320 steps, some ten seconds on one core.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

EPOCHS = 60
BATCH = 64


def train(capture):
    """Train the network; `capture` records the forward pass of each step."""
    torch.set_num_threads(1)  # products this small lose time to more
    images, labels = _digits()
    test = len(images) // 5
    model = _network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    epoch_steps = (len(images) - test) // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * epoch_steps)
    for epoch in range(EPOCHS):
        order = test + torch.randperm(len(images) - test)
        for batch in order[: epoch_steps * BATCH].split(BATCH):
            with capture(model):
                scores = model(images[batch])
            loss = nn.functional.cross_entropy(scores, labels[batch])
            capture.note(loss=loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        if epoch % 10 == 9:
            with torch.no_grad():
                accuracy = (model(images[:test]).argmax(1) == labels[:test]).float().mean()
            print(f"epoch {epoch + 1}: test accuracy {accuracy:.1%}")


def _digits():
    digits = load_digits()
    pixels = torch.tensor(digits.images / 16, dtype=torch.float32)  # they are 0 to 16
    images = nn.functional.interpolate(pixels[:, None], scale_factor=2, mode="bilinear")
    order = torch.randperm(len(images))
    return images[order], torch.tensor(digits.target)[order]


def _network():
    model = nn.Sequential()
    for name, layer in {
        "conv1": nn.Conv2d(1, 16, 3, padding=1),
        "relu1": nn.ReLU(),
        "pool1": nn.MaxPool2d(2),
        "conv2": nn.Conv2d(16, 32, 3, padding=1),
        "relu2": nn.ReLU(),
        "conv3": nn.Conv2d(32, 32, 3, padding=1),
        "relu3": nn.ReLU(),
        "pool3": nn.MaxPool2d(2),
        "flatten": nn.Flatten(),
        "dense4": nn.Linear(32 * 4 * 4, 64),
        "relu4": nn.ReLU(),
        "dense5": nn.Linear(64, 10),
    }.items():
        model.add_module(name, layer)
        if hasattr(layer, "weight"):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    return model

"""Networks without branches: AlexNet, OverFeat, NiN, VGG."""

from cdma.offload.networks.graph import IMAGE, Builder

_VGG = {
    "a": (1, 1, 2, 2, 2),
    "d": (2, 2, 3, 3, 3),
    "e": (2, 2, 4, 4, 4),
}


def _head(b: Builder, x: int, widths: tuple[int, ...]) -> None:
    for k, width in enumerate(widths):
        x = b.fc(x, f"fc{k + 6}", width, relu=k < len(widths) - 1)


def alexnet() -> Builder:
    """AlexNet as in "One weird trick", the variant of convnet-benchmarks."""
    b = Builder()
    x = b.conv(IMAGE, "conv1", 64, 11, 4, pad=2)
    x = b.pool(x, "pool1", 3, 2)
    x = b.conv(x, "conv2", 192, 5)
    x = b.pool(x, "pool2", 3, 2)
    for k, channels in enumerate((384, 256, 256), 3):
        x = b.conv(x, f"conv{k}", channels)
    x = b.pool(x, "pool5", 3, 2)
    _head(b, x, (4096, 4096, 1000))
    return b


def overfeat_fast() -> Builder:
    """OverFeat, the fast model."""
    b = Builder((3, 231, 231))
    x = b.conv(IMAGE, "conv1", 96, 11, 4, pad=0)
    x = b.pool(x, "pool1", 2, 2)
    x = b.conv(x, "conv2", 256, 5, pad=0)
    x = b.pool(x, "pool2", 2, 2)
    for k, channels in enumerate((512, 1024, 1024), 3):
        x = b.conv(x, f"conv{k}", channels)
    x = b.pool(x, "pool5", 2, 2)
    _head(b, x, (3072, 4096, 1000))
    return b


def overfeat_accurate() -> Builder:
    """OverFeat, the accurate model."""
    b = Builder((3, 221, 221))
    x = b.conv(IMAGE, "conv1", 96, 7, 2, pad=0)
    x = b.pool(x, "pool1", 3, 3)
    x = b.conv(x, "conv2", 256, 7, pad=0)
    x = b.pool(x, "pool2", 2, 2)
    for k, channels in enumerate((512, 512, 1024, 1024), 3):
        x = b.conv(x, f"conv{k}", channels)
    x = b.pool(x, "pool6", 3, 3)
    _head(b, x, (4096, 4096, 1000))
    return b


def nin() -> Builder:
    """Network in network, the ImageNet model."""
    b = Builder()
    x = IMAGE
    stages = ((96, 11, 4, 0, (96, 96)), (256, 5, 1, 2, (256, 256)), (384, 3, 1, 1, (384, 384)))
    stages += ((1024, 3, 1, 1, (1024, 1000)),)
    count = 0
    for k, (channels, kernel, stride, pad, ones) in enumerate(stages, 1):
        x = b.conv(x, f"conv{k}", channels, kernel, stride, pad)
        for width in ones:
            count += 1
            x = b.conv(x, f"cccp{count}", width, 1)
        if k < len(stages):
            x = b.pool(x, f"pool{k}", 3, 2)
        if k == len(stages) - 1:
            x = b.same(x, "drop", "dropout")
    b.global_pool(x, "pool4")
    return b


def vgg(model: str) -> Builder:
    """VGG; ``model`` is a (8 convolutions), d (13) or e (16)."""
    b = Builder()
    x = IMAGE
    for k, count in enumerate(_VGG[model], 1):
        for i in range(1, count + 1):
            x = b.conv(x, f"conv{k}_{i}", min(64 << (k - 1), 512))
        x = b.pool(x, f"pool{k}", 2, 2)
    _head(b, x, (4096, 4096, 1000))
    return b

"""Networks with branches: SqueezeNet, GoogLeNet, ResNet-50, MobileNetV2, a transformer's FFN."""

from cdma.offload.networks.graph import IMAGE, Builder

_FIRE = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
#: 1x1, reduce and 3x3, reduce and 5x5, projection of the pool.
_INCEPTION = {
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}  # fmt: skip
#: Expansion, channels, blocks, stride.
_MOBILE = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip


def squeezenet(version: str) -> Builder:
    """SqueezeNet 1.0 or 1.1, on images of 227 x 227."""
    b = Builder((3, 227, 227))
    is_old = version == "1.0"
    x = b.conv(IMAGE, "conv1", 96 if is_old else 64, 7 if is_old else 3, 2, pad=0)
    x = b.pool(x, "pool1", 3, 2)
    pools = (4, 8) if is_old else (3, 5)
    for k, (squeeze, expand) in enumerate(_FIRE, 2):
        x = b.conv(x, f"fire{k}/squeeze1x1", squeeze, 1)
        one = b.conv(x, f"fire{k}/expand1x1", expand, 1)
        three = b.conv(x, f"fire{k}/expand3x3", expand, 3)
        x = b.join([one, three], f"fire{k}/concat", "concat")
        if k in pools:
            x = b.pool(x, f"pool{k}", 3, 2)
    x = b.same(x, "drop9", "dropout")
    x = b.conv(x, "conv10", 1000, 1, pad=1 if is_old else 0)
    b.global_pool(x, "pool10")
    return b


def googlenet() -> Builder:
    """GoogLeNet without auxiliary classifiers and LRN, as in convnet-benchmarks."""
    b = Builder()
    x = b.conv(IMAGE, "conv1/7x7_s2", 64, 7, 2)
    x = b.pool(x, "pool1/3x3_s2", 3, 2)
    x = b.conv(x, "conv2/3x3_reduce", 64, 1)
    x = b.conv(x, "conv2/3x3", 192)
    x = b.pool(x, "pool2/3x3_s2", 3, 2)
    for name, (one, reduce3, three, reduce5, five, projection) in _INCEPTION.items():
        label = f"inception_{name}"
        parts = [b.conv(x, f"{label}/1x1", one, 1)]
        y = b.conv(x, f"{label}/3x3_reduce", reduce3, 1)
        parts.append(b.conv(y, f"{label}/3x3", three))
        y = b.conv(x, f"{label}/5x5_reduce", reduce5, 1)
        parts.append(b.conv(y, f"{label}/5x5", five, 5))
        y = b.pool(x, f"{label}/pool", 3, 1, pad=1)
        parts.append(b.conv(y, f"{label}/pool_proj", projection, 1))
        x = b.join(parts, f"{label}/output", "concat")
        if name in ("3b", "4e"):
            x = b.pool(x, f"pool{label[-2]}/3x3_s2", 3, 2)
    x = b.global_pool(x, "pool5/7x7_s1")
    b.fc(x, "fc6", 1000, relu=False)
    return b


def resnet50() -> Builder:
    """ResNet-50 with the stride in the 3x3 convolutions."""
    b = Builder()
    x = b.normed(IMAGE, "conv1", 64, 7, 2)
    x = b.pool(x, "pool1", 3, 2, pad=1, ceil=False)
    for stage, blocks in enumerate((3, 4, 6, 3), 2):
        width = 32 << (stage - 1)
        for block in range(1, blocks + 1):
            label = f"conv{stage}_{block}"
            stride = 2 if block == 1 and stage > 2 else 1
            y = b.normed(x, f"{label}/1x1_reduce", width, 1)
            y = b.normed(y, f"{label}/3x3", width, 3, stride)
            y = b.normed(y, f"{label}/1x1_expand", 4 * width, 1, relu=False)
            if block == 1:
                x = b.normed(x, f"{label}/shortcut", 4 * width, 1, stride, relu=False)
            x = b.join([y, x], f"{label}/add", "add", relu=True)
    x = b.global_pool(x, "pool5")
    b.fc(x, "fc", 1000, relu=False)
    return b


def mobilenetv2() -> Builder:
    """MobileNetV2 of width 1; each block ends in a linear, dense output."""
    b = Builder()
    x = b.normed(IMAGE, "conv1", 32, 3, 2)
    count = 0
    for expansion, channels, blocks, first in _MOBILE:
        for block in range(blocks):
            count += 1
            width = b.shape(x)[0]
            stride = first if block == 0 else 1
            y, inner = x, width * expansion
            if expansion > 1:
                y = b.normed(y, f"block{count}/expand", inner, 1)
            y = b.normed(y, f"block{count}/depthwise", inner, 3, stride, groups=inner)
            y = b.normed(y, f"block{count}/project", channels, 1, relu=False)
            is_same = stride == 1 and width == channels
            x = b.join([y, x], f"block{count}/add", "add") if is_same else y
    x = b.normed(x, "conv_last", 1280, 1)
    x = b.global_pool(x, "pool")
    b.fc(x, "fc", 1000, relu=False)
    return b


def ffn(width: int = 768, tokens: int = 1024, blocks: int = 12) -> Builder:
    """Feed-forward blocks of a transformer with squared ReLU; an image is a sequence of tokens."""
    b = Builder((width, tokens, 1))
    x = IMAGE
    for k in range(1, blocks + 1):
        y = b.linear(x, f"block{k}/up", 4 * width, relu=True)
        y = b.same(y, f"block{k}/square", "square")
        y = b.linear(y, f"block{k}/down", width)
        x = b.join([y, x], f"block{k}/add", "add")
    return b

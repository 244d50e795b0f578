"""The validation: verdicts follow the rules, and are not given without the figures."""

import pytest

from cdma.errors import UserError
from cdma.offload.compute import BOARDS, times_of
from cdma.offload.networks.zoo import network
from cdma.offload.validate import cswap, report, vdnn
from cdma.offload.validate.rows import HOLDS, MISSED, NOT_GIVEN, OPEN

_HEADER = "net,batch,all_m,all_p,conv_m,conv_p,dyn,base_m,base_p,offload_all_MiB,offload_conv_MiB\n"


def _verdicts(folder, line, monkeypatch):
    (folder / vdnn.FILE).write_text(_HEADER + line + "\n")
    monkeypatch.setenv("CDMA_PUBLISHED", str(folder))
    return {row.claim: row for row in vdnn.rows()}


def test_without_figures(monkeypatch):
    monkeypatch.delenv("CDMA_PUBLISHED", raising=False)
    found = report.rows()
    verdicts = [row.verdict for row in found]
    assert verdicts.count(NOT_GIVEN) == 7
    assert set(verdicts) <= {NOT_GIVEN, HOLDS, MISSED, OPEN}
    assert "7 not given" in report.summary(found)
    assert vdnn.points() == []


def test_a_wrong_figure_is_missed(tmp_path, monkeypatch):
    good = "AlexNet-OWT,128,0.37,0.785,0.4,0.96,1.0,0.401,1,358,162"
    found = _verdicts(tmp_path, good, monkeypatch)
    assert found["vDNN Fig. 14: all (p), AlexNet-OWT, batch 128"].verdict == HOLDS
    assert found["vDNN Fig. 12: MiB of all and conv, AlexNet-OWT, batch 128"].verdict == HOLDS
    bad = "AlexNet-OWT,128,0.37,0.885,0.4,0.96,1.0,0.401,1,458,162"
    found = _verdicts(tmp_path, bad, monkeypatch)
    assert found["vDNN Fig. 14: all (p), AlexNet-OWT, batch 128"].verdict == MISSED
    assert found["vDNN Fig. 12: MiB of all and conv, AlexNet-OWT, batch 128"].verdict == MISSED
    assert found["vDNN Fig. 14: conv (p), AlexNet-OWT, batch 128"].verdict == HOLDS


def test_a_wrong_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_PUBLISHED", str(tmp_path))
    with pytest.raises(UserError, match="cannot read these figures"):
        vdnn.rows()
    (tmp_path / vdnn.FILE).write_text("net,batch\nx,1\n")
    with pytest.raises(UserError, match="lacks the column all_m"):
        vdnn.rows()
    (tmp_path / vdnn.FILE).write_text(_HEADER)
    with pytest.raises(UserError, match="has no line behind its header"):
        vdnn.rows()
    (tmp_path / vdnn.FILE).write_text(
        "\ufeff" + _HEADER + "AlexNet-OWT,128,0.37,0.785,0.4,0.96,1.0,0.401,1,358,162\n"
    )
    assert vdnn.rows()


def test_slowed_convolutions():
    net = network("vgg-e").features
    times = times_of(net, 8, BOARDS["titan-x"])
    slow = vdnn.slowed(net, times, 0.5)
    assert slow.total == pytest.approx(2 * times.total)
    pools = [i for i, layer in enumerate(net.layers) if layer.kind == "maxpool"]
    assert all(slow.forward[i] == times.forward[i] for i in pools)


def test_the_published_figures(published):
    assert (published / vdnn.FILE).is_file()
    verdicts = {row.claim: row.verdict for row in [*vdnn.rows(), *cswap.rows()]}
    missed = {claim for claim, verdict in verdicts.items() if verdict == MISSED}
    # The model has no choice of algorithms, and its step is linear in the batch.
    assert all("dyn" in claim or claim.endswith("batch 256") for claim in missed), missed
    assert list(verdicts.values()).count(HOLDS) == 29

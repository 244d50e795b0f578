"""What the document says whatever the figures are."""
# ruff: noqa: E501  (a row of a Markdown table is one line)

TITLE = """\
# Does training get faster?

`cdma offload` models layer-by-layer training whose activations are offloaded to host memory. It puts
the published systems and the baselines of today side by side on one model. `cdma offload document -o
docs` writes this page and its figures from the tensors in `CDMA_DATA` and the published figures in
`CDMA_PUBLISHED`.
"""

METHOD = """\
## Method

Constants are in `cdma/offload/constants.py`, each with its source and a mark: A is read in the
primary source, D is derived from A, M is from memory, an assumption.

| Part | Rule | Source |
|---|---|---|
| Compute | roofline: FLOP over the achieved rate of the kind of convolution, bytes over the memory rate; ReLU in place; gradients of several readers are added | Caffe logs of a Titan X, VGG E: vDNN Fig. 6 (D) |
| Tensors | a storage moves once, in its last forward consumer; it is needed at its first backward reader; ReLU is in place; concat is one storage | fits vDNN Fig. 12 |
| vDNN | each layer waits for its copy; one prefetch beside a backward pass, the nearest on the host; the search ends at a convolution that needs none | vDNN, MICRO 2016 (A) |
| cDMA | a window of the buffer's size takes the slower of link and codec; sizes are the golden engine's stream and index | this project |
| Codec rate | channels times the units' measured rate in standard cells | `docs/measurements/scaling.json` |
| ZL | zlib of 4 KiB windows, ideal and at 2.5 GB/s | cDMA, HPCA 2018 (M) |
| Static, CSWAP | compression before the layer, decompression before the use; CSWAP takes the cheaper of raw and compressed by tensor | CSWAP, CLUSTER 2021, equations 1 to 4 |
| Their codec | a line through the times of Fig. 3, a V100 | CSWAP (D) |
| vDNN++ | no synchronisation, a pool of device memory; the CPU compresses after the copy: link bytes stay | vDNN++ |
| COMET | the lossy codec on the inputs of convolutions, a mask of one bit for each ReLU; other tensors as in cDMA; the bound is given, or follows from the gradient's deviation | [format](format.md#lossy-codec), [gradient](torch.md#choosing-the-bound-from-the-gradient) |
| async | FIFO copies, two earlier tensors in flight each way | common practice |
| recompute | about sqrt(n) segments | Chen et al., arXiv 1604.06174 |
| bf16, fp8, 4 bits | casts at the memory rate; lossy | |
| Device memory | a layer takes at least its own and the moved bytes over the bandwidth | |

Peak memory is weights, gradients, momentum and activations, without workspaces. The schedules are
checked against a second model in SimPy, to the picosecond. Tests hold, among others: no system is
faster than the oracle; cDMA at ratio 1 with an ideal engine is vDNN; CSWAP is no slower than raw or
static; more bandwidth never hurts; scaling all bytes and bandwidths changes nothing.

| Question | Command |
|---|---|
| every system on a network | `cdma offload run vgg-d --densities activations` |
| what limits each tensor | `cdma offload explain vgg-d --ratio 2.6` |
| does an engine pay, and which | `cdma offload advise vgg-d --link 55 --tflops 60 --dram 2000 --ratio 2.6` |
| many points, with a figure | `cdma offload sweep vgg-d --links 8,16,32 --ratios 1.5,2.6 --figures build` |
| a timeline in Perfetto | `cdma offload trace alexnet --ratio 2.6 -o step.json` |
| layer times of your own | `cdma offload layers vgg-d --csv layers.csv`, then `--times layers.csv` |
| CSWAP's tuner, on the measured CPU codec | `cdma offload tune activations/step0500.relu2.npy` |
| COMET's scheme at a deviation of the gradient | `cdma offload run vgg-d --densities activations --lossy grad=0.01` |
| bytes on disk of lossy codecs | `cdma offload lossy --densities activations` |
| the model beside published figures, and yours | `cdma offload validate --add mine.csv` |
| times of the CPU codec for the regression's and tuner's rows | `cdma offload measure --save docs/measurements/offload_cpu.json` |

The file of `layers --csv` has the columns `batch` and `board`. `--times` scales its times to the batch of
the run and refuses those of another board. For times of another GPU, set `batch` to that of the
measurement, leave `board` out and give `--dram`. Without the column `batch`, the times are those of the
run's batch, whatever it is, and a sweep over several batches is refused.
"""

ATTEMPTS = """\
### What was tried

Each row changes one assumption of the model. Points are model minus published, over the bars of
Fig. 14 up to batch 128; the link is 12.5 GB/s for these bars and 12.8 GB/s for cDMA.

- **VGG-E.** vDNN's Fig. 6 has the deep convolutions of VGG-E up to twice as fast as the logs on which
  the model is calibrated have such layers. At the calibrated rates VGG-E all (p) is missed, at the
  times of Fig. 6 it holds. So the validation takes Fig. 6 for VGG-E.
- **cDMA.** vDNN's AlexNet is faster than the AlexNet of the logs by the factor in the last row. With
  that factor for all six networks, cDMA's published average and largest gain on the Titan X come out
  within two points. A link of 10 GB/s comes near, too. The factor contradicts GoogLeNet's bars of
  Fig. 14, the link those of several networks, so the model uses neither: the miss fits a platform where
  compute is faster relative to the link than in vDNN's paper, and no source says so.

"""

LOSSY = """\
## Lossy codecs

Raw bytes over bytes on disk of float32 activations, whole files with headers, at the same absolute
error for every codec; rel is a multiple of the standard deviation of a tensor's non-zero values.
`cdma offload lossy --save docs/measurements/lossy.json` measures it, with zfpy and pysz from
`pip install 'cdma-engine[lossy]'`. The entropy is that of the quantised numbers: what an entropy stage
behind lossy ZVC could reach.
"""

LIMITS = """\
## Limits

- Compute times are those of one board and one version of cuDNN; others are scaled by peak rates.
  Give `--times` for anything else.
- The paper's network variants, batches and per-network results are not all published. Its VGG is
  taken to be model D.
- Ratios come from small trained networks and from pretrained ones, matched by layer name or depth.
- The model is linear in the batch, and scales `--times` likewise. It has no workspaces, no
  fragmentation, no multi-GPU traffic but `--share` and `--other-traffic`.
- Energy: the engine's is measured (`docs/measurements/power.json`); that of the link and of both
  memories has no sourced figure here, so `cdma offload run --energy D,L,H` asks for it. The energy of
  compute is left out.
- COMET's bound from the gradient is measured on one small network. Its dense inputs, such as images,
  stay raw: no tensors of them were measured.
"""

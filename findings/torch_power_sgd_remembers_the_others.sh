#!/bin/sh
# PyTorch 1.13: with the PowerSGD hook and its error feedback, what a rank remembers is its own gradient minus the
# approximation of the mean of all ranks. So it remembers how the other ranks differ, not only what the compression lost.
# Here the rank is full, nothing is lost and the mean is right, but the memory grows by the same amount in every step,
# and adding it in single precision makes later means less exact. A rank that remembered what its own compression lost
# would remember 0.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack_with_all python3-torch=1.13.1+dfsg-4
export PYTHONPATH="$folder/usr/lib/python3/dist-packages"
cat >"$folder/ranks.py" <<'PY'
import os, warnings
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.nn.parallel import DistributedDataParallel
warnings.filterwarnings("ignore")
def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(8, 8, bias=False))
    state = power.PowerSGDState(None, matrix_approximation_rank=8, start_powerSGD_iter=2, min_compression_rate=0.01)
    model.register_comm_hook(state, power.powerSGD_hook)
    inputs = torch.eye(8) * (1 if rank == 0 else -1)  # the gradients of both ranks have opposite signs
    for step in range(1003):
        model.zero_grad()
        (model(inputs) * torch.arange(64.0).view(8, 8)).sum().backward()
        if rank == 0 and step in (2, 3, 12, 102, 1002):
            memory = sum(error.norm().item() for error in state.error_dict.values())
            print("compressed", step - 1, "times: memory", round(memory, -1), "mean", model.module.weight.grad.norm().item(),
                  flush=True)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(run, ("29721",), nprocs=2)
PY
expect /usr/bin/python3 "$folder/ranks.py" <<'OUT'
compressed 1 times: memory 290.0 mean 0.0
compressed 2 times: memory 580.0 mean 0.0
compressed 11 times: memory 3210.0 mean 0.0
compressed 101 times: memory 29510.0 mean 0.0
compressed 1001 times: memory 292430.0 mean 0.0
OUT

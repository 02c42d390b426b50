#!/bin/sh
# PyTorch 1.13: PeriodicModelAverager, the averager of local SGD and post-local SGD, averages only the parameters that have
# a gradient in this step. A parameter whose gradient is None, because the step did not use it, keeps its own value on every
# rank: the models differ after an average, and nothing says so. Once it has a gradient, the next average is right.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack_with_all python3-torch=1.13.1+dfsg-4
export PYTHONPATH="$folder/usr/lib/python3/dist-packages"
cat >"$folder/ranks.py" <<'PY'
import os, warnings
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
warnings.filterwarnings("ignore")
def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    used, idle = (torch.nn.Parameter(torch.full((1,), float(rank))) for _ in range(2))
    averager = PeriodicModelAverager(period=2, warmup_steps=0)
    for step in range(6):
        used.grad = torch.zeros(1)
        if step >= 3:
            idle.grad = torch.zeros(1)
        averager.average_parameters([used, idle])
        if rank == 0:
            print("step", step, "used", used.item(), "idle", idle.item(), flush=True)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(run, ("29722",), nprocs=2)
PY
expect /usr/bin/python3 "$folder/ranks.py" <<'OUT'
step 0 used 0.5 idle 0.0
step 1 used 0.5 idle 0.0
step 2 used 0.5 idle 0.0
step 3 used 0.5 idle 0.0
step 4 used 0.5 idle 0.5
step 5 used 0.5 idle 0.5
OUT

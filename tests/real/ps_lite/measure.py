"""Mean steps of real training over dmlc/ps-lite, as a table that psim calibrate reads.

    python3 tests/real/ps_lite/measure.py PS_LITE CONGESTION_CONTROL [RATE_MBIT [RUNS.csv]]

PS_LITE is a clone of github.com/dmlc/ps-lite. The script compiles it with training.cpp, gives every node a network
namespace behind a bridge, shapes both directions of each link with tbf (burst 16 kB, latency 50 ms), and measures the
configurations of RUNS.csv, or its own. Needs root, ip, tc, g++, protoc, and the headers of ZeroMQ and protobuf (Debian:
iproute2, protobuf-compiler, libprotobuf-dev, libzmq3-dev). Allow the congestion control before:
sysctl net.ipv4.tcp_allowed_congestion_control.
"""
import csv
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NODES, STEPS, REPETITIONS = 14, 20, 2
FIELDS = ["workers", "servers", "consistency", "messages.acknowledge", "model_bytes", "compute_ms", "slowdown"]
# Workers, servers, consistency, bytes of the model, milliseconds of a computation, slowdown of worker 0.
OWN_RUNS = [(1, 1, "bsp", 1600000, 50, 1), (3, 1, "asp", 1600000, 50, 1), (6, 1, "asp", 800000, 50, 1),
            (6, 2, "asp", 1600000, 50, 1), (3, 3, "asp", 2400000, 80, 1), (8, 3, "asp", 1200000, 60, 1),
            (4, 1, "asp", 400000, 40, 1), (4, 2, "ssp 2", 1600000, 50, 3), (6, 3, "bsp", 2400000, 50, 1),
            (3, 1, "bsp", 4000000, 100, 1), (8, 2, "asp", 4000000, 200, 1), (5, 2, "asp", 4000000, 60, 1),
            (6, 2, "ssp 1", 1600000, 50, 1)]


def shell(command):
    subprocess.run(command, shell=True, check=True)


def build(ps_lite, folder):
    shell(f"cd {ps_lite}/src && protoc --cpp_out={folder} meta.proto")
    sources = " ".join(glob.glob(f"{ps_lite}/src/*.cc"))
    shell(f"g++ -std=c++17 -O2 -w -I{ps_lite}/include -I{ps_lite}/src -I{folder} {HERE}/training.cpp {sources} "
          f"{folder}/meta.pb.cc -lzmq -lprotobuf -pthread -o {folder}/training")
    shell(f"gcc -shared -fPIC -O2 {HERE}/congestion.c -ldl -o {folder}/congestion.so")


def remove_network():
    for name in [f"psim{i}" for i in range(NODES)] + ["psimswitch"]:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def make_network(rate):
    remove_network()
    shell("ip netns add psimswitch && ip -n psimswitch link add bridge0 type bridge"
          " && ip -n psimswitch link set bridge0 up")
    for i in range(NODES):
        shell(f"ip netns add psim{i} && ip link add eth0 netns psim{i} type veth peer name port{i} netns psimswitch"
              f" && ip -n psimswitch link set port{i} master bridge0 && ip -n psimswitch link set port{i} up"
              f" && ip -n psim{i} addr add 10.77.0.{i + 1}/24 dev eth0 && ip -n psim{i} link set eth0 up"
              f" && ip -n psim{i} link set lo up")
        for place, device in ((f"psim{i}", "eth0"), ("psimswitch", f"port{i}")):
            shell(f"tc -n {place} qdisc add dev {device} root tbf rate {rate}mbit burst 16kb latency 50ms")


def bound_of(consistency):
    model, *number = consistency.split()
    return {"bsp": 0, "asp": STEPS}[model] if not number else int(number[0])


def train(folder, congestion, workers, servers, consistency, model_bytes, compute, slowdown):
    """The dates of the workers' steps, and those of the requests at the servers: what training.cpp writes."""
    for old in glob.glob(f"{folder}/steps.*"):
        os.unlink(old)
    processes = []
    roles = ["scheduler"] + ["server"] * servers + ["worker"] * workers
    for node, role in enumerate(roles):
        variables = {"DMLC_NUM_WORKER": workers, "DMLC_NUM_SERVER": servers, "DMLC_ROLE": role,
                     "DMLC_PS_ROOT_URI": "10.77.0.1", "DMLC_PS_ROOT_PORT": 8000, "DMLC_INTERFACE": "eth0",
                     "DMLC_NODE_HOST": f"10.77.0.{node + 1}", "CONGESTION_CONTROL": congestion,
                     "LD_PRELOAD": f"{folder}/congestion.so"}
        command = ["ip", "netns", "exec", f"psim{node}", f"{folder}/training", bound_of(consistency),
                   model_bytes // 4, compute, slowdown, STEPS, f"{folder}/steps"]
        processes.append(subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL,
                                          env=os.environ | {k: str(v) for k, v in variables.items()}))
    for process in processes:
        process.wait(timeout=300)

    def lines(path):
        return [[float(number) for number in line.split()] for line in open(path, encoding="ascii")]

    return ([lines(f"{folder}/steps.{rank}") for rank in range(workers)],
            [lines(f"{folder}/steps.server.{rank}") for rank in range(servers)])


def mean_step(*run):
    workers, _ = train(*run)
    steps = [end - begin for steps in workers for begin, _, _, end in steps]
    return sum(steps) / len(steps)


def main():
    ps_lite, congestion = os.path.abspath(sys.argv[1]), sys.argv[2]
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    runs = OWN_RUNS
    if len(sys.argv) > 4:
        with open(sys.argv[4], encoding="ascii") as table:
            runs = [(int(r["workers"]), int(r["servers"]), r["consistency"], int(r["model_bytes"]),
                     float(r["compute_ms"]), float(r["slowdown"])) for r in csv.DictReader(table)]
    print(",".join(FIELDS + ["steps", "step_s"]))
    with tempfile.TemporaryDirectory() as folder:
        build(ps_lite, folder)
        make_network(rate)
        try:
            for run in runs:
                steps = [mean_step(folder, congestion, *run) for _ in range(REPETITIONS)]
                workers, servers, consistency, *rest = run
                acknowledge = "false" if consistency == "bsp" else "true"
                print(workers, servers, consistency, acknowledge, *rest, STEPS, f"{sum(steps) / len(steps):.6f}",
                      sep=",", flush=True)
        finally:
            remove_network()


if __name__ == "__main__":
    main()

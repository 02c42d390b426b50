"""A parameter server in PyTorch whose log psim calibrate reads (docs/calibrate.md).

One server and some workers are processes of one machine; they talk over TCP. Each worker computes the gradient of a
small network on its own data. Then it sleeps, as if an accelerator had taken a time of its own: the mean, times a
noise that persists over steps, times the factor of --slow for worker 0. A row of the log is one step of one worker:
its computation, its push until the server has it all, and the rest of the step, waiting for others included. The dates
of both processes are comparable because they run on one machine.

    python3 parameter_server.py --workers 4 --steps 200 --consistency bsp --log bsp.csv
"""
import argparse
import math
import multiprocessing
import random
import socket
import struct
import threading
import time

import torch


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def receive(connection, size):
    view = memoryview(bytearray(size))
    done = 0
    while done < size:
        done += connection.recv_into(view[done:])
    return view


def serve(listener, o):
    weights = torch.nn.utils.parameters_to_vector(make_model().parameters()).detach()
    bound = {"bsp": 0, "ssp": o.staleness, "asp": o.steps}[o.consistency]
    clocks, changed = [0] * o.workers, threading.Condition()

    def answer(connection, worker):
        for step in range(o.steps):
            gradient = torch.frombuffer(receive(connection, 4 * weights.numel()), dtype=torch.float32)
            received = time.monotonic()
            with changed:
                weights.sub_(gradient, alpha=0.1 / o.workers)
                clocks[worker] = step + 1
                changed.notify_all()
                changed.wait_for(lambda: step + 1 - min(clocks) <= bound)
                copy = weights.numpy().tobytes()
            connection.sendall(struct.pack("d", received) + copy)

    threads = []
    for _ in range(o.workers):
        connection, _ = listener.accept()
        worker = struct.unpack("i", receive(connection, 4))[0]
        threads.append(threading.Thread(target=answer, args=(connection, worker)))
    for thread in threads:
        thread.start()


def work(address, worker, o, rows):
    torch.set_num_threads(1)
    model, loss = make_model(), torch.nn.CrossEntropyLoss()
    generator, noise, level = torch.Generator().manual_seed(worker), random.Random(worker), 0.0
    connection = socket.create_connection(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(struct.pack("i", worker))
    for step in range(o.steps):
        begin = time.monotonic()
        level = o.memory * level + math.sqrt(1 - o.memory**2) * noise.gauss(0, 1)
        lasts = 1e-3 * o.compute_ms * math.exp(o.cv * level) * (o.slow if worker == 0 else 1)
        inputs = torch.randn(32, 64, generator=generator)
        model.zero_grad()
        loss(model(inputs), inputs[:, :10].argmax(1)).backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        time.sleep(max(0.0, begin + lasts - time.monotonic()))
        computed = time.monotonic()
        connection.sendall(gradient.numpy().tobytes())
        (received,) = struct.unpack("d", receive(connection, 8))
        weights = torch.frombuffer(receive(connection, 4 * gradient.numel()), dtype=torch.float32)
        torch.nn.utils.vector_to_parameters(weights, model.parameters())
        end = time.monotonic()
        rows.put((worker, step, computed - begin, received - computed, end - received, 4 * gradient.numel()))


def main():
    parser = argparse.ArgumentParser(description="a real parameter server whose steps psim calibrate reads")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--consistency", choices=("bsp", "ssp", "asp"), default="bsp")
    parser.add_argument("--staleness", type=int, default=3, help="of ssp")
    parser.add_argument("--slow", type=float, default=1, help="factor on the steps of worker 0")
    parser.add_argument("--compute-ms", type=float, default=40, help="mean time of a step")
    parser.add_argument("--cv", type=float, default=0.3, help="variation of the steps")
    parser.add_argument("--memory", type=float, default=0.8, help="correlation of a step with the next")
    parser.add_argument("--log", required=True)
    o = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    rows = multiprocessing.Queue()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        workers = [multiprocessing.Process(target=work, args=(listener.getsockname(), i, o, rows))
                   for i in range(o.workers)]
        for worker in workers:
            worker.start()
        serve(listener, o)
        lines = sorted(rows.get() for _ in range(o.workers * o.steps))
    with open(o.log, "w", encoding="ascii") as log:
        log.write("worker,step,compute_s,push_s,pull_s,bytes\n")
        for worker, step, *durations, size in lines:
            log.write(f"{worker},{step}," + ",".join(f"{d:.6f}" for d in durations) + f",{size}\n")


if __name__ == "__main__":
    main()

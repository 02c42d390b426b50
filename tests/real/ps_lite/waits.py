"""How long requests wait at the ports of real servers, and how unequal transfers are.

    python3 tests/real/ps_lite/waits.py PS_LITE CONGESTION_CONTROL [RATE_MBIT]     200

Needs what measure.py needs. For each configuration under bsp and asp (2 MB, 100 ms of computing) the script prints the
mean step, the mean wait of a pull's request from its worker to the moment when the server sees it, and the coefficients of
variation of the pushes and of the pulls of one step, over the workers of a server. With several servers it also prints how
much the pushes of one worker are alike: the correlation, over workers and steps, of its push to one server with its push
to another, both relative to the step's mean at their server. A step's pushes begin together only under bsp, so what
concerns them is printed for bsp alone.
"""
import collections
import itertools
import os
import statistics
import sys
import tempfile

import measure


def variation(values):
    return statistics.stdev(values) / statistics.fmean(values)


def report(name, workers, servers):
    step = statistics.fmean(end - begin for steps in workers for begin, _, _, end in steps)
    waits, pushes, deviations = [], [], []
    for seen in servers:
        deviations.append([])
        dates = collections.defaultdict(list)
        for is_push, date, worker in seen:
            dates[int(is_push), int(worker)].append(date)
        for k in range(measure.STEPS):
            waits += [dates[0, w][k] - steps[k][2] for w, steps in enumerate(workers)]
            first = min(steps[k][1] for steps in workers)
            # The first push gives the servers their values; it belongs to no step.
            durations = [dates[1, w][k + 1] - first for w in range(len(workers))]
            pushes.append(variation(durations))
            deviations[-1] += [duration / statistics.fmean(durations) - 1 for duration in durations]
    pulls = [variation([steps[k][3] - steps[k][2] for steps in workers]) for k in range(measure.STEPS)]
    alike = [statistics.correlation(*pair) for pair in itertools.combinations(deviations, 2)]
    shares = f", pushes {statistics.fmean(pushes):.3f}, pulls {statistics.fmean(pulls):.3f}" if "bsp" in name else ""
    shares += f", pushes alike {statistics.fmean(alike):.2f}" if shares and alike else ""
    print(f"{name}: step {step:.3f} s, request {1e3 * statistics.fmean(waits):.1f} ms{shares}", flush=True)


def main():
    ps_lite, congestion = os.path.abspath(sys.argv[1]), sys.argv[2]
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with tempfile.TemporaryDirectory() as folder:
        measure.build(ps_lite, folder)
        measure.make_network(rate)
        try:
            for workers, servers in ((2, 1), (4, 1), (8, 1), (4, 2), (8, 2), (8, 4)):
                for consistency in ("bsp", "asp"):
                    run = measure.train(folder, congestion, workers, servers, consistency, 2000000, 100, 1)
                    report(f"{workers} workers, {servers} servers, {consistency}", *run)
        finally:
            measure.remove_network()


if __name__ == "__main__":
    main()

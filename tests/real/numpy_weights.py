#!/usr/bin/env python3
"""The last weights of runs, read with NumPy and computed with NumPy.

numpy_weights.py PSIM: exit 77 without NumPy (Debian: python3-numpy), 1 if something differs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy here (Debian: python3-numpy)")
    sys.exit(77)

PSIM = sys.argv[1]
X = np.array([[1, 2, 0.5], [-1, 0.5, 2], [0.25, -2, 1], [1.5, 1, -1]])
Y = np.array([[1, -1], [2, 0], [0, 1.5], [-1, 1]], dtype=float)
FIRST = np.array([[0.5, -0.25, 0.1], [0.0, 0.3, -0.2]])
RATE, MU, DECAY, LOCAL, CLOCKS = 0.05, 0.9, 0.1, 4, 6


def rows(values):
    return json.dumps(values.tolist())


SCENARIO = f"""
[data]
source = "inline"
partition = "contiguous"
inputs = {rows(X)}
targets = {rows(Y)}
[model]
layers = [3, 2]
activation = "identity"
loss = "half-sse"
precision = "float64"
weights = [{rows(FIRST)}]
[training]
batch_size = 2
steps = {CLOCKS}
learning_rate = {RATE}
optimizer = "momentum"
momentum = {MU}
weight_decay = {DECAY}
local_steps = {LOCAL}
[compute]
time = "10ms"
[cluster]
workers = 2
"""


def psim(*words, code=0):
    done = subprocess.run([PSIM, *words], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"psim {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def local_sgd():
    """The mean of two copies that each train alone for LOCAL steps, CLOCKS times; gradients are means over a
    batch of two samples."""
    weights, bias = FIRST.copy(), np.zeros(2)
    state = [[np.zeros_like(weights), np.zeros_like(bias)] for _ in range(2)]
    for _ in range(CLOCKS):
        copies = []
        for worker in range(2):
            w, b = weights.copy(), bias.copy()
            x, y = X[2 * worker:2 * worker + 2], Y[2 * worker:2 * worker + 2]
            for _ in range(LOCAL):
                error = (x @ w.T + b - y) / 2
                for i, (value, slope) in enumerate([(w, error.T @ x), (b, error.sum(axis=0))]):
                    state[worker][i] = MU * state[worker][i] + slope + DECAY * value
                    value -= RATE * state[worker][i]
            copies.append((w, b))
        weights = (copies[0][0] + copies[1][0]) / 2
        bias = (copies[0][1] + copies[1][1]) / 2
    return weights, bias


def load(folder, name, shape, kind):
    array = np.load(folder / f"{name}.npy")
    if array.shape != shape or array.dtype != np.dtype(kind):
        sys.exit(f"{name}: {array.shape} of {array.dtype}, not {shape} of {kind}")
    return array


def check_near(what, got, expected):
    if not np.allclose(got, expected, rtol=1e-12, atol=1e-14):
        sys.exit(f"{what}: {got} is not {expected}")


with tempfile.TemporaryDirectory() as scratch:
    here = pathlib.Path(scratch)
    (here / "local.toml").write_text(SCENARIO)
    for architecture in ["parameter-server", "all-reduce"]:
        run, out = here / architecture, here / f"{architecture}-weights"
        psim("run", str(here / "local.toml"), "--set", f"architecture.kind={architecture}", "--out", str(run))
        psim("export", str(run), "--weights", str(out))
        w, b = local_sgd()
        check_near(f"{architecture}: W1", load(out, "W1", (2, 3), "<f8"), w)
        check_near(f"{architecture}: b1", load(out, "b1", (2,), "<f8"), b)
        refusal = psim("export", str(run), "--weights", str(out), code=2)
        assert "give --force" in refusal, refusal
        psim("export", str(run), "--weights", str(out), "--force")
    # Half precision is written in single precision; a weight that a record changed is not exported.
    run = here / "half"
    psim("run", str(here / "local.toml"), "--set", "model.precision=float16", "--out", str(run))
    psim("export", str(run), "--weights", str(here / "halves"))
    w = load(here / "halves", "W1", (2, 3), "<f4")
    assert np.array_equal(w, w.astype(np.float16)), w
    summary = (run / "summary.json").read_text()
    known = json.loads(summary)["model"]["weights"]
    (run / "summary.json").write_text(summary.replace(known, "0123456789abcdef"))
    refusal = psim("export", str(run), "--weights", str(here / "other"), code=2)
    assert "other last weights" in refusal and not (here / "other").exists(), refusal
print("the last weights are those of NumPy")

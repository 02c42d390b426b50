#!/bin/sh
# pandas 1.5: read_csv changes 51 % of random doubles by their last bit, as pandas.to_numeric does. The options do not do
# what their names promise: float_precision="high", the default, is worse than "legacy", and engine="python" does not read
# numbers as Python does. read_json changes 60 %. Only float_precision="round_trip", precise_float=True and astype(float)
# return the numbers that were written.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack python3-pandas=1.5.3+dfsg-2 python3-pandas-lib=1.5.3+dfsg-2 python3-numpy=1:1.24.2-1+deb12u1 libblas3=3.11.0-2 \
  liblapack3=3.11.0-2 python3-dateutil=2.8.2-2 python3-six=1.16.0-4 python3-tz=2022.7.1-4
export LD_LIBRARY_PATH="$libraries/blas:$libraries/lapack:$libraries" PYTHONPATH="$folder/usr/lib/python3/dist-packages"
cat >"$folder/count.py" <<'PY'
import io, random
import pandas
random.seed(1)
numbers = [random.random() * 10 ** random.randint(-3, 3) for _ in range(100000)]
texts = list(map(repr, numbers))
csv = "x\n" + "\n".join(texts)
json = '{"x": [' + ",".join(texts) + "]}"
def count(name, read):
    print(name, round(sum(a != b for a, b in zip(read, numbers)) / 1000), "%")
count("read_csv", pandas.read_csv(io.StringIO(csv))["x"])
for precision in "high", "legacy", "round_trip":
    count(precision, pandas.read_csv(io.StringIO(csv), float_precision=precision)["x"])
count("python", pandas.read_csv(io.StringIO(csv), engine="python")["x"])
count("to_numeric", pandas.to_numeric(pandas.Series(texts)))
count("astype", pandas.Series(texts).astype(float))
count("read_json", pandas.read_json(io.StringIO(json))["x"])
count("precise_float", pandas.read_json(io.StringIO(json), precise_float=True)["x"])
PY
expect /usr/bin/python3 "$folder/count.py" <<'OUT'
read_csv 51 %
high 51 %
legacy 33 %
round_trip 0 %
python 51 %
to_numeric 51 %
astype 0 %
read_json 60 %
precise_float 0 %
OUT

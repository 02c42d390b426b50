#!/bin/sh
# iperf3 3.12: in the JSON of a UDP client, `end.sum` has the bytes that were sent, the seconds of the receiver, and a
# bits_per_second of the sender's bytes and seconds. So bytes / seconds is not bits_per_second, and neither is the rate that
# arrived: the loss stands beside it as lost_percent. Each interval's `sum` is the sender's, too. Only `end.sum_received`
# tells what arrived. For TCP there is no `end.sum`.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2
"$folder/usr/bin/iperf3" --server --one-off --port 15299 --bind 127.0.0.1 >"$folder/server" &
server=$!
sleep 1
# Without a target bitrate the sender of UDP is far faster than the receiver.
"$folder/usr/bin/iperf3" --client 127.0.0.1 --port 15299 --udp --bitrate 0 --time 2 --json >"$folder/udp.json"
wait "$server"
sums() {
  python3 - "$folder/udp.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
end = document["end"]
both, sent, received = end["sum"], end["sum_sent"], end["sum_received"]
print("datagrams are lost:", both["lost_percent"] > 5)
print("bytes of sum are those sent:", both["bytes"] == sent["bytes"] > 1.05 * received["bytes"])
print("seconds of sum are the receiver's:", both["seconds"] == received["seconds"] != sent["seconds"])
print("its rate is the sender's:", both["bits_per_second"] == sent["bits_per_second"])
print("so is that of the intervals:", sum(one["sum"]["bytes"] for one in document["intervals"]) == sent["bytes"])
PY
}
expect sums <<'OUT'
datagrams are lost: True
bytes of sum are those sent: True
seconds of sum are the receiver's: True
its rate is the sender's: True
so is that of the intervals: True
OUT

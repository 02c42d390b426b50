#!/bin/sh
# uPlot 1.6.32: setScale() returns before the scale has changed, and its hook "setScale" runs in a microtask. Code that
# sets a flag around the call, to tell its own changes from those of a user, takes all of them for the user's; then two
# charts that follow each other call each other for ever. A hook must compare the window with the one that was asked for.
# And a logarithmic axis (distr: 3) without a `range` of its own shows three decades, 0.1 to 100, for values from 1.4 to
# 1.6. The page prints both. Needs npm and Chromium.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent uplot@1.6.32 >/dev/null
tar xzf uplot-1.6.32.tgz
cat >page.html <<'END'
<!DOCTYPE html><body><script src="package/dist/uPlot.iife.min.js"></script><pre id="said"></pre><script>
let inside = false;
const seen = [];
const chart = new uPlot({ width: 300, height: 200, scales: { x: { time: false }, y: { distr: 3 } }, series: [{}, { stroke: "red" }],
  hooks: { setScale: [(plot, key) => { if (key === "x") seen.push(inside); }] } }, [[0, 1, 2, 3], [1.4, 1.5, 1.5, 1.6]], document.body);
setTimeout(() => {
  seen.length = 0;
  inside = true;
  chart.setScale("x", { min: 1, max: 2 });
  const before = [chart.scales.x.min, seen.length];
  inside = false;
  queueMicrotask(() => setTimeout(() => {
    document.getElementById("said").textContent = JSON.stringify({ right_after_the_call: before, later: chart.scales.x.min, hook_inside_the_call: seen,
      log_axis: [chart.scales.y.min, chart.scales.y.max] });
  }));
});
</script></body>
END
chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=3000 --dump-dom "file://$work/page.html" 2>/dev/null |
  sed -n 's/.*<pre id="said">\(.*\)<\/pre>.*/\1/p' | tee said
expected='{"right_after_the_call":[0,0],"later":1,"hook_inside_the_call":[false],"log_axis":[0.1,100]}'
[ "$(cat said)" = "$expected" ] || { echo "uPlot 1.6.32 behaves otherwise now: $expected was expected"; exit 1; }

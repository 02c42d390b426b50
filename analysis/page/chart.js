// Charts with uPlot: curves with bands, a goal, dates, and names at the ends of lines.
"use strict";
const dashes = [null, [9, 3], [3, 2], [10, 3, 2, 3], null, [14, 4], [1, 3], [6, 2, 1, 2, 1, 2]];

// The range of finite values, with a margin. Without a whole decade a logarithmic axis would round far beyond them.
function rangeOf(values, log) {
  const all = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!all.length) return [log ? 1 : 0, log ? 10 : 1];
  const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
  if (log) return [low / 1.06, high * 1.06];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

// The least of 1, 2 and 5 times powers of ten with which `count` steps cover the range.
function roundStep(low, high, count) {
  const rough = (high - low) / count, ten = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((one) => one * ten).find((one) => one >= rough);
}

// About `count` round values on an axis; on a logarithmic one 1, 2 and 5 times powers of ten.
function roundValues(low, high, count, log) {
  const all = [];
  if (!log || high / low < 3) {
    const step = roundStep(low, high, count);
    for (let i = Math.ceil(low / step); i * step <= high; ++i) all.push(Number((i * step).toPrecision(12)));
    return all;
  }
  const steps = high / low > 300 ? [1] : high / low > 30 ? [1, 3] : [1, 2, 5];
  for (let ten = 10 ** Math.floor(Math.log10(low)); ten <= high; ten *= 10)
    for (const step of steps) if (step * ten >= low && step * ten <= high) all.push(Number((step * ten).toPrecision(6)));
  return all;
}

// The index of the last point of a curve at or before `x`; -1 before the first.
const lastAt = (curve, x) => firstAbove(curve.x, x, 0, curve.x.length) - 1;

// Names at the ends of lines, without overlaps.
function nameEnds(plot, host, curves) {
  host.querySelectorAll(".end").forEach((old) => old.remove());
  if (curves.length < 2) return;  // the axis names a single line
  const shown = plot.scales.x.max, left = plot.over.offsetLeft, top = plot.over.offsetTop;
  const ends = curves.filter((curve) => lastAt(curve, shown) >= 0).map((curve) => {
    const last = lastAt(curve, shown);
    return { curve, y: top + plot.valToPos(curve.mean[last], "y"), x: left + plot.valToPos(curve.x[last], "x") };
  }).sort((a, b) => b.y - a.y);
  const room = 170;  // of a name
  ends.forEach((end, i) => {
    const near = ends.slice(0, i).filter((other) => Math.abs(other.x - end.x) < room);
    end.y = Math.min(Math.max(0, end.y), ...near.map((other) => other.y - 17));
  });
  const down = Math.max(0, ...ends.map((end) => -end.y));  // if there are too many, the lowest names go below the chart
  for (const { curve, y, x } of ends) {
    const name = element("span", { class: "end s" + (curve.series % 8) }, element("b", {}, letterOf(curve.series)), " " + curve.label);
    name.style.top = y + down + "px";
    if (x < host.clientWidth - room) name.style.left = x + 8 + "px";
    host.append(name);
  }
}

// The goal as a line across the chart, and dates as vertical lines. A name is left out if the name before covers it.
function drawNotes(plot, { goal, dates = [] }) {
  const g = plot.ctx, { left, top, width, height } = plot.bbox, pixel = window.devicePixelRatio || 1;
  const lineTo = (x, y, toX, toY, dash) => {
    g.setLineDash(dash.map((one) => one * pixel));
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(toX, toY);
    g.stroke();
  };
  g.save();
  g.strokeStyle = g.fillStyle = colour("soft");
  g.lineWidth = pixel;
  g.font = `${12 * pixel}px system-ui, sans-serif`;
  g.textAlign = "left";
  g.textBaseline = "alphabetic";
  if (goal !== undefined) {
    const y = plot.valToPos(goal, "y", true);
    lineTo(left, y, left + width, y, [2, 4]);
    g.fillText("target " + rounded(goal), left + 6 * pixel, y - top < 18 * pixel ? y + 14 * pixel : y - 5 * pixel);
  }
  let free = left;
  for (const [date, name] of dates) {
    const x = plot.valToPos(date, "x", true);
    if (x < left || x > left + width) continue;
    lineTo(x, top, x, top + height, [2, 3]);
    if (x < free) continue;
    g.fillText(name, x + 4 * pixel, top + 12 * pixel);
    free = x + 8 * pixel + g.measureText(name).width;
  }
  g.restore();
}

// The columns of uPlot: x of all curves, then for each curve its mean and, if it has a band, its edges.
function columnsOf(curves, log) {
  // A line goes on over an unknown value (undefined), and breaks at one that is no number (null).
  const shown = (values) => values.map((v) => (Number.isNaN(v) ? null : v === null || (log && !(v > 0)) ? undefined : v));
  return uPlot.join(curves.map((curve) => [curve.x, shown(curve.mean), ...(curve.low && curve.low.length ? [shown(curve.low), shown(curve.high)] : [])]));
}

function seriesOf(curves, steps) {
  const series = [{}], bands = [];
  const paths = steps ? uPlot.paths.stepped({ align: 1 }) : undefined;
  for (const curve of curves) {
    const stroke = colour("s" + (curve.series % 8)), dash = curves.length > 1 ? dashes[curve.series % 8] : null;
    series.push({ label: curve.label, stroke, width: 2.2, dash, paths, points: { show: curve.x.length < 2 } });
    if (!curve.low || !curve.low.length) continue;
    bands.push({ series: [series.length + 1, series.length], fill: stroke + "29" });
    for (let edge = 0; edge < 2; ++edge) series.push({ stroke: null, width: 0, paths, points: { show: false } });
  }
  return { series, bands };
}

// Curves in `host`: {curves: [{series, label, x, mean, low, high}], xName, yName, log}; `goal`: a value to reach; `dates`: what happened, [date, name]; `steps`: values hold until the next; `onZoom` gets each new window. Returns {show(window), destroy()}.
function chart(host, what) {
  const live = element("div", { class: what.curves.length > 1 ? "live" : "live one" });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const legend = element("p", { class: "legend" }, ...what.curves.flatMap((c) => [element("b", { class: "letter s" + (c.series % 8) }, letterOf(c.series)), ` ${c.label}  `]));
  host.replaceChildren(...(what.curves.length > 1 ? [legend] : []), live, readout);
  const curves = what.curves.filter((curve) => curve.x.length), all = curves.flatMap((c) => c.x);
  const whole = [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity)];
  if (!(whole[1] > whole[0])) whole[1] = whole[0] + 1;
  const range = rangeOf([what.goal, ...curves.flatMap((c) => [...c.mean, ...(c.low || []), ...(c.high || [])])], what.log);
  if (what.yName.startsWith("accuracy")) [range[0], range[1]] = [Math.max(0, range[0]), Math.min(101, range[1])];
  const axis = (label, side, size) => ({
    label, side, size, stroke: colour("soft"), font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", labelSize: 22,
    grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, values: (plot, values) => values.map(rounded),
    splits: (plot, number, low, high) => roundValues(low, high, side === 2 ? 7 : 6, side === 3 && what.log),
  });
  const say = (plot) => {
    if (!(plot.cursor.left >= 0)) return;
    const x = plot.posToVal(plot.cursor.left, "x");
    const told = curves.map((curve) => [curve, lastAt(curve, x)]).filter(([, at]) => at >= 0);
    if (!told.length) return;
    readout.replaceChildren(`${what.xName} ${rounded(x)}: `, ...told.flatMap(([curve, at]) =>
      [element("b", {}, curves.length > 1 ? letterOf(curve.series) : ""), ` ${curve.label} ${rounded(curve.mean[at])}   `]));
  };
  let shown = whole;  // the window that was asked for
  const plot = new uPlot({
    width: live.clientWidth, height: live.clientHeight, ...seriesOf(curves, what.steps), legend: { show: false },
    scales: { x: { time: false, min: whole[0], max: whole[1] }, y: { distr: what.log ? 3 : 1, range } },
    axes: [axis(what.xName, 2, 34), axis(what.yName, 3, 60)], cursor: { drag: { x: true, y: false }, points: { size: 8 } },
    hooks: {
      draw: [(one) => { drawNotes(one, what); nameEnds(one, live, curves); }], setCursor: [say],
      setScale: [(one, key) => {
        const { min, max } = one.scales.x;
        if (key === "x" && what.onZoom && (min !== shown[0] || max !== shown[1])) what.onZoom(shown = [min, max]);
      }],
    },
  }, columnsOf(curves, what.log), live);
  const show = ([min, max]) => {
    shown = [min, max];
    plot.setScale("x", { min, max });
  };
  const watch = new ResizeObserver(() => plot.setSize({ width: live.clientWidth, height: live.clientHeight }));
  watch.observe(live);
  keys(live, () => whole, () => [plot.scales.x.min, plot.scales.x.max], ([min, max]) => plot.setScale("x", { min, max }));
  live.setAttribute("role", "application");
  live.setAttribute("aria-label", `${what.yName} over ${what.xName}. Arrow keys move, plus and minus zoom, 0 shows all.`);
  return { show, destroy: () => { watch.disconnect(); plot.destroy(); } };
}

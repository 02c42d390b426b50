// Code for all pages of psim: data, charts with dygraphs, and keys that move a view.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

// <name class="...">children</name>
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function letterOf(series) {
  return series < 26 ? String.fromCharCode(97 + series) : letterOf(Math.floor(series / 26) - 1) + letterOf(series % 26);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function rounded(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "-";
  return Math.abs(value) >= 1e5 ? String(Math.round(value)) : String(Number(value.toPrecision(4)));
}

// Radio buttons; `change` gets the chosen value.
function choice(name, title, options, chosen, change) {
  const set = element("fieldset", {}, element("legend", {}, title));
  for (const [value, text] of options) {
    const input = element("input", { type: "radio", name, value, class: "unseen" });
    input.checked = value === chosen;
    input.addEventListener("change", () => change(value));
    set.append(element("label", {}, input, text));
  }
  return set;
}

function tick(title, checked, change) {
  const input = element("input", { type: "checkbox" });
  input.checked = checked;
  input.addEventListener("change", () => change(input.checked));
  return element("label", {}, input, " " + title);
}

// Arrows, + and -, and 0 or Home, for a view of `window()` in [begin, end] that `show` sets.
function keys(host, whole, view, show) {
  host.tabIndex = 0;
  host.addEventListener("keydown", (event) => {
    const [begin, end] = view();
    const width = end - begin;
    const moves = {
      ArrowLeft: () => [begin - width / 8, end - width / 8], ArrowRight: () => [begin + width / 8, end + width / 8],
      "+": () => [begin + width / 6, end - width / 6], "=": () => [begin + width / 6, end - width / 6],
      "-": () => [begin - width / 4, end + width / 4], 0: whole, Home: whole,
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(within(move(), whole()));
  });
}

// The window, with its width kept, moved into `whole`; `whole` itself if the window is wider.
function within([begin, end], [low, high]) {
  const width = Math.min(end - begin, high - low);
  const first = Math.min(Math.max(begin, low), high - width);
  return [first, first + width];
}

const dashes = [null, [9, 3], [3, 2], [10, 3, 2, 3], null, [14, 4], [1, 3], [6, 2, 1, 2, 1, 2]];

// Joins curves with different x values into one table: rows of x and, by curve, [low, mean, high].
function table(curves) {
  const places = new Map();
  curves.forEach((curve, number) => curve.x.forEach((x, i) => {
    if (!places.has(x)) places.set(x, [x, ...curves.map(() => null)]);
    const mean = curve.mean[i];
    places.get(x)[number + 1] = [curve.low.length ? curve.low[i] : mean, mean, curve.high.length ? curve.high[i] : mean];
  }));
  return [...places.values()].sort((a, b) => a[0] - b[0]);
}

// A logarithmic axis cannot show values at or below zero.
function positive(rows) {
  const least = Math.min(...rows.flatMap((row) => row.slice(1).filter((v) => v && v[1] > 0).map((v) => v[1])));
  return rows.map((row) => row.map((v) => (Array.isArray(v) ? v.map((one) => Math.max(one, least / 10)) : v)));
}

// Names at the ends of lines, without overlaps.
function nameEnds(graph, host, curves) {
  host.querySelectorAll(".end").forEach((old) => old.remove());
  if (curves.length < 2) return;  // the axis names a single line
  const shown = graph.xAxisRange()[1];
  const ends = curves.map((curve) => {
    let last = curve.x.length - 1;
    while (last > 0 && curve.x[last] > shown) --last;
    return { curve, y: graph.toDomYCoord(curve.mean[last]), x: graph.toDomXCoord(curve.x[last]) };
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
    name.style.transform = "translateY(-50%)";
    if (x < host.clientWidth - room) name.style.left = x + "px";
    host.append(name);
  }
}

// The range of all curves and the goal, with a margin.
function rangeWith({ curves, goal }) {
  const all = [goal, ...curves.flatMap((c) => [...c.mean, ...c.low, ...c.high])].filter((v) => Number.isFinite(v));
  const low = Math.min(...all), high = Math.max(...all), room = (high - low) * 0.05 || 1;
  return [low - room, high + room];
}

// The target's value as a line across the chart.
function drawGoal(context, area, graph, goal) {
  if (goal === undefined) return;
  const y = graph.toDomYCoord(goal);
  context.save();
  context.strokeStyle = context.fillStyle = colour("soft");
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(area.x, y);
  context.lineTo(area.x + area.w, y);
  context.stroke();
  context.font = "12px system-ui, sans-serif";
  context.fillText("target " + rounded(goal), area.x + 6, y - area.y < 18 ? y + 14 : y - 5);
  context.restore();
}

// Events as vertical lines: [date, name]. A name is left out if the name before covers it.
function drawDates(context, area, graph, dates) {
  context.save();
  context.strokeStyle = context.fillStyle = colour("soft");
  context.setLineDash([2, 3]);
  context.font = "12px system-ui, sans-serif";
  let free = area.x;
  for (const [date, name] of dates) {
    const x = graph.toDomXCoord(date);
    if (x < area.x || x > area.x + area.w) continue;
    context.beginPath();
    context.moveTo(x, area.y);
    context.lineTo(x, area.y + area.h);
    context.stroke();
    if (x < free) continue;
    context.fillText(name, x + 4, area.y + 12);
    free = x + 8 + context.measureText(name).width;
  }
  context.restore();
}

// Curves in `host`: {curves: [{series, label, x, mean, low, high}], xName, yName, log}; `goal`: a value to reach; `dates`: what happened, [date, name]; `steps`: values hold until the next.
function chart(host, what) {
  const live = element("div", { class: "live" });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const legend = element("p", { class: "legend" }, ...what.curves.flatMap((c) => [element("b", { class: "letter s" + (c.series % 8) }, letterOf(c.series)), ` ${c.label}  `]));
  host.replaceChildren(...(what.curves.length > 1 ? [legend] : []), live, readout);
  const rows = what.log ? positive(table(what.curves)) : table(what.curves);
  const graph = new Dygraph(live, rows, {
    customBars: true, connectSeparatedPoints: true, labels: ["x", ...what.curves.map((c, i) => i + " " + c.label)],
    colors: what.curves.map((c) => colour("s" + (c.series % 8))), logscale: what.log, fillAlpha: 0.16, strokeWidth: 2.2,
    series: Object.fromEntries(what.curves.map((c, i) => [i + " " + c.label, { strokePattern: what.curves.length > 1 ? dashes[c.series % 8] : null }])),
    xlabel: what.xName, ylabel: what.yName, legend: "never", stepPlot: Boolean(what.steps), gridLineColor: colour("line"), axisLineColor: colour("line"),
    axes: { y: { axisLabelFormatter: rounded, axisLabelWidth: 56 }, x: { axisLabelFormatter: rounded } },
    highlightCircleSize: 4, drawCallback: (g) => nameEnds(g, live, what.curves), valueRange: what.goal ? rangeWith(what) : null,
    underlayCallback: (context, area, g) => { drawGoal(context, area, g, what.goal); drawDates(context, area, g, what.dates || []); },
    highlightCallback: (event, x, points) => {
      readout.replaceChildren(`${what.xName} ${rounded(x)}: `, ...points.flatMap((p) => {
        const number = Number(p.name.split(" ", 1)[0]);
        return [element("b", {}, what.curves.length > 1 ? letterOf(what.curves[number].series) : ""), ` ${what.curves[number].label} ${rounded(p.yval)}   `];
      }));
    },
  });
  const whole = graph.xAxisExtremes();
  keys(live, () => whole, () => graph.xAxisRange(), (dateWindow) => graph.updateOptions({ dateWindow }));
  live.setAttribute("role", "application");
  live.setAttribute("aria-label", `${what.yName} over ${what.xName}. Arrow keys move, plus and minus zoom, 0 shows all.`);
  return graph;
}

// Scrolls to the target of a link within the page, and gives it the focus.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const goal = link && document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
  if (goal) goal.focus();
});

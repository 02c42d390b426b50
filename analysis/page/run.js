// The page of a run: the time line, and charts with the same time window.
"use strict";
if (data.kind === "run") {
  const { summary, drawn } = data;
  const graphs = [];
  let line = null;

  const curve = (series, label, points) => ({ series, label, x: points.map((p) => p[0]), mean: points.map((p) => p[1]), low: [], high: [] });

  // A chart in `host` that always shows the same window as the time line.
  function joined(host, what) {
    const graph = chart(host, { xName: "simulated time [s]", log: false, ...what, onZoom: (view) => (line ? line.show(view) : follow(view)) });
    graphs.push(graph);
    graph.show([0, summary.sim_time_s]);
  }

  // A line breaks where its worker goes back to an earlier clock.
  const broken = (line) => line.flatMap((point, i) => (i && point[1] < line[i - 1][1] ? [[(point[0] + line[i - 1][0]) / 2, NaN], point] : [point]));

  const follow = (view) => graphs.forEach((graph) => graph.show(view));

  function place(after, title) {
    const host = element("div", { class: "curves" });
    if (!after.querySelector(".charts")) after.append(element("div", { class: "charts" }));
    after.querySelector(".charts").append(element("div", {}, element("h3", {}, title), host));
    return host;
  }

  function drawLoss() {
    const host = document.getElementById("loss");
    if (!host) return;
    const { loss, accuracy } = data.curves;
    joined(host, { curves: [{ series: 0, label: "loss", ...loss }], yName: "loss", dates: drawn.dates, log: loss.mean.every((value) => value > 0) });
    if (accuracy.x.length > 1) joined(place(host.closest("section"), "Accuracy"), { curves: [{ series: 2, label: "accuracy", ...accuracy }], yName: "accuracy [%]", dates: drawn.dates, ...(data.goal?.accuracy ? { goal: data.goal.accuracy } : {}) });
  }

  // How many pushes had which staleness.
  function drawHistogram() {
    const host = document.getElementById("histogram");
    if (!host) return;
    const pushes = new Map(summary.staleness.histogram), most = Math.max(...pushes.keys());
    const points = Array.from({ length: most + 2 }, (_, staleness) => [staleness, pushes.get(staleness) || 0]);
    chart(host, { curves: [curve(0, "applied pushes", points)], xName: "staleness [updates]", yName: "applied pushes", steps: true });
  }

  // Joins similar lines into one: the mean of their nodes, with a band from the smallest to the largest.
  function bundled(lines) {
    const peak = Math.max(...lines.flatMap(([, points]) => points.map((p) => p[1])));
    const bundles = [];
    for (const [name, points] of lines) {
      const found = bundles.find((one) => one.first.every((p, i) => Math.abs(p[1] - points[i][1]) <= 0.05 * peak));
      if (found) found.lines.push([name, points]);
      else bundles.push({ first: points, lines: [[name, points]] });
    }
    return bundles.map(({ lines: alike }, i) => {
      const at = (which) => alike[0][1].map((_, j) => which(alike.map(([, points]) => points[j][1])));
      const mean = at((values) => values.reduce((sum, value) => sum + value, 0) / values.length);
      const band = alike.length > 1 ? { low: at((values) => Math.min(...values)), high: at((values) => Math.max(...values)) } : {};
      return { ...curve(i, namesOf(alike.map(([name]) => name)), alike[0][1]), mean, ...band };
    });
  }

  // The charts that only a run with events has.
  function drawEvents() {
    const { events } = drawn, after = document.getElementById("training") || document.getElementById("lanes");
    const say = (text) => after.append(element("p", { class: "hint" }, text));
    if (events.staleness.length && events.staleness.every((p) => p[1] === 0)) say("Staleness was 0 throughout.");
    else if (events.staleness.length > 1)
      joined(place(after, "Staleness of the pushes that were applied (means over short intervals)"), { curves: [curve(1, "staleness", events.staleness)], yName: "staleness [updates]" });
    const clocks = events.clocks.filter((one) => one.line.length > 1);
    if (clocks.length > 1 && events.clock_spread <= 1) say("All workers were always within one step of each other.");
    else if (clocks.length)
      joined(place(after, events.clocks.length < summary.workers.length ? "Clocks: which step each of the first workers was in" : "Clocks: which step each worker was in"), { curves: clocks.map((one) => curve(one.worker, "worker " + one.worker, broken(one.line))), yName: "clock", steps: true });
    const traffic = document.getElementById("traffic");
    const more = drawn.timeline.lanes.length > events.traffic.length ? "The first nodes: " : "";
    const width = events.bin_s >= 1 ? events.bin_s.toPrecision(3) + " s" : Number((events.bin_s * 1e3).toPrecision(3)) + " ms";
    const means = ` (means over ${width}${events.bin_steps ? `, about ${events.bin_steps} mean step${events.bin_steps > 1 ? "s" : ""}` : ""})`;
    const rates = (bytes) => bytes.map((b, i) => [(i + 0.5) * events.bin_s, b / events.bin_s / 1e6]);
    for (const [word, way] of events.traffic.length ? [["Sent", "out"], ["Received", "in"]] : [])
      joined(place(traffic, `${more}${word} by each node${means}`), { curves: bundled(events.traffic.map((one) => [one.name, rates(one[way])])), yName: "MB/s" });
  }

  // A sentence that someone points at lights up its nodes; a click goes there.
  function lightUp(sentence) {
    const names = new Set(nodesIn(sentence.textContent).filter((name) => line.rowByName.has(name)));
    if (!names.size) return;
    const light = (lit) => {
      line.lit = lit;
      line.draw();
      if (!window.show) return;
      window.show.lit = lit;
      window.show.draw();
    };
    sentence.classList.add("lights");
    sentence.tabIndex = 0;
    ["mouseenter", "focus"].forEach((kind) => sentence.addEventListener(kind, () => light(names)));
    ["mouseleave", "blur"].forEach((kind) => sentence.addEventListener(kind, () => light(null)));
    sentence.addEventListener("click", () => document.getElementById(window.show ? "steps" : "lanes").scrollIntoView());
  }

  drawLoss();
  drawHistogram();
  if (drawn.events) drawEvents();
  if (drawn.timeline) {
    line = new TimeLine(document.getElementById("timeline"), drawn.timeline, drawn.events, drawn.path, drawn.show && !drawn.events?.messages && shownEvents(drawn.show).filter((one) => one.what === "sent" && one.until < Infinity), drawn.show?.messages);
    line.openAt(4);  // charts first show the whole run
    line.onView = follow;
    const steps = document.getElementById("show");
    if (steps && drawn.show) window.show = new Show(steps, drawn.show, line, { story: data.story });
    if (window.show && location.hash === "#film") document.body.replaceChildren(element("script", { type: "image/svg+xml" }, filmOf(window.show)));  // psim show --film reads it
    if (window.show && line.arrows) line.show([window.show.at - 3 * window.show.unit, window.show.at + 21 * window.show.unit]);  // four steps
    window.timeLine = line;
    document.querySelectorAll("#answer p").forEach(lightUp);
  }
}

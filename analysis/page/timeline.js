// A time line of every node on a canvas. A frame examines only visible pieces: it searches each row, and draws pieces
// narrower than a pixel as one, in the colour that takes most of the pixel.
"use strict";
const gutter = 118, topMargin = 26, mostRows = 400;

// The decoded numbers of a row: dates in seconds, and the seconds of each use before each piece.
function decoded(lane, uses) {
  const count = lane.pieces.length / 5;
  const row = {
    name: lane.name, node: lane.node, marks: lane.marks, count,
    begin: new Float64Array(count), end: new Float64Array(count), use: new Uint8Array(count),
    other: new Int32Array(count), clock: new Int32Array(count), before: uses.map(() => new Float64Array(count + 1)),
  };
  let at = 0;
  for (let i = 0; i < count; ++i) {
    at += lane.pieces[5 * i];
    row.begin[i] = at / 1e9;
    at += lane.pieces[5 * i + 1];
    row.end[i] = at / 1e9;
    row.use[i] = lane.pieces[5 * i + 2];
    row.other[i] = lane.pieces[5 * i + 3];
    row.clock[i] = lane.pieces[5 * i + 4];
    row.before.forEach((sums, use) => {
      sums[i + 1] = sums[i] + (use === row.use[i] ? row.end[i] - row.begin[i] : 0);
    });
  }
  return row;
}

// The first index in [from, count) whose `dates` value is above `date`.
function firstAbove(dates, date, from, count) {
  let low = from, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dates[middle] > date) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Pieces of the critical path: {node, kind, begin_s, end_s, to}.
function decodedPath({ names, pieces }) {
  const made = [];
  for (let i = 0; i < pieces.length; i += 5)
    made.push({ node: names[pieces[i]], kind: names[pieces[i + 1]], begin_s: pieces[i + 2] / 1e9, end_s: (pieces[i + 2] + pieces[i + 3]) / 1e9, to: names[pieces[i + 4]] });
  return made;
}

class TimeLine {
  // `sent`: the messages of the step-through, for a page without those of the whole run, which are `all`.
  constructor(host, timeline, events, path, sent, all) {
    this.timeline = timeline;
    this.rows = timeline.lanes.slice(0, mostRows).map((lane) => decoded(lane, timeline.uses));
    this.rowHeight = this.rows.length > 40 ? Math.max(4, Math.floor(960 / this.rows.length)) : 24;
    this.rowOf = new Map(this.rows.map((row, i) => [row.node, i]));
    this.nameOf = new Map(timeline.lanes.map((lane) => [lane.node, lane.name]));
    this.rowByName = new Map(this.rows.map((row, i) => [row.name, i]));
    this.path = path ? decodedPath(path) : [];
    this.pathEnds = Float64Array.from(this.path, (piece) => piece.end_s);
    this.messages = events?.messages ? this.decodedMessages(events.messages) : sent ? this.packedMessages(sent, all) : null;
    this.view = [0, timeline.end];
    this.chosen = null;
    this.arrows = !document.getElementById("answer");  // beside the step-through alone: a sequence diagram
    this.onView = null;  // gets the window whenever it changes
    this.canvas = element("canvas", { role: "application", "aria-label": "What every node did when. Left and right move, plus and minus zoom, up and down choose a node, n and p go from piece to piece, 0 shows all." });
    this.told = element("p", { class: "readout", "aria-live": "polite" });
    host.replaceChildren(this.controls(), this.canvas, this.told);
    host.removeAttribute("role");
    this.listen();
    this.resize();
  }

  // `until`: the date of receipt; of a message that did not arrive, the date when it was sent. `reached`: the latest so far.
  decodedMessages({ list, all }) {
    const rows = [];
    for (let i = 0, at = 0; i < list.length; i += 4) {
      at += list[i];
      rows.push({ at: at / 1e9, until: (at + Math.max(0, list[i + 1])) / 1e9, node: list[i + 2], peer: list[i + 3], isLost: list[i + 1] < 0 });
    }
    return this.packedMessages(rows, all);
  }

  packedMessages(rows, all) {
    const column = (Kind, value) => Kind.from(rows, value), isLost = column(Uint8Array, (one) => (one.isLost ? 1 : 0));
    const until = column(Float64Array, (one, i) => (isLost[i] ? one.at : one.until));
    let latest = 0;
    return { count: rows.length, all, sent: column(Float64Array, (one) => one.at), until, reached: until.map((date) => (latest = Math.max(latest, date))),
      from: column(Int32Array, (one) => one.node), to: column(Int32Array, (one) => one.peer), isLost };
  }

  controls() {
    const bar = element("div", { class: "controls" },
      button("+", "zoom in", () => this.zoom(0.5)), button("\u2212", "zoom out", () => this.zoom(2)),
      button("\u2190", "earlier", () => this.pan(-0.25)), button("\u2192", "later", () => this.pan(0.25)),
      button("all", "show all", () => this.show([0, this.timeline.end])));
    this.part = element("span", { class: "hint" });
    bar.append(this.part);
    if (this.messages) bar.append(tick("arrows of messages", this.arrows, (on) => { this.arrows = on; this.draw(); }));
    if (this.path.length) bar.append(tick("critical path", true, (on) => { this.hidesPath = !on; this.draw(); }));
    const hidden = this.timeline.lanes.length - this.rows.length;
    if (hidden > 0) bar.append(element("span", { class: "hint" }, `${hidden} more nodes are not shown.`));
    if (this.timeline.joined_below_s > 0) bar.append(element("span", { class: "hint" }, `Pieces shorter than ${duration(this.timeline.joined_below_s)} are joined with their neighbours.`));
    this.drawnText = element("span", { class: "hint" });
    bar.append(element("span", { class: "hint" }, `Drag to move, Ctrl and wheel to zoom; click a piece to see ${this.messages ? "its messages" : "what it is"}.`), this.drawnText);
    return bar;
  }

  show(view) {
    const least = this.timeline.end * 1e-8;
    if (view[1] - view[0] < least) return;
    this.view = within(view, [0, this.timeline.end]);
    this.onView?.(this.view);
    const part = (this.view[1] - this.view[0]) / this.timeline.end;
    this.part.textContent = part < 0.999 ? `${duration(this.view[1] - this.view[0])} of ${duration(this.timeline.end)} are shown; "all" shows all.` : "";
    this.draw();
  }

  // Opens around the first fault, or at the first clocks of a run with many more; "all" shows the others.
  openAt(clocks) {
    if (this.timeline.opens) {
      this.show(this.timeline.opens);
      return;
    }
    const last = Math.max(...this.rows.map((row) => (row.count ? row.clock[row.count - 1] : 0)));
    const ends = this.rows.map((row) => row.begin[row.clock.findIndex((clock) => clock >= clocks)]).filter((date) => date > 0);
    if (last >= 3 * clocks && ends.length) this.show([0, Math.max(...ends)]);
  }

  // A line at a date; moves the window if the date is outside.
  mark(date) {
    this.marked = date;
    const [begin, end] = this.view;
    if (date < begin || date > end) this.show([date - (end - begin) / 8, date + (7 * (end - begin)) / 8]);
    else this.draw();
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show([at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor]);
  }

  pan(share) {
    const width = this.view[1] - this.view[0];
    this.show([this.view[0] + share * width, this.view[1] + share * width]);
  }

  listen() {
    keys(this.canvas, () => [0, this.timeline.end], () => this.view, (view) => this.show(view));
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 300), this.dateAt(event.offsetX));
    }, { passive: false });
    let held = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, view: this.view, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!held) return this.hover(event);
      const by = (held.x - event.offsetX) / this.plotWidth() * (held.view[1] - held.view[0]);
      held.moved = held.moved || Math.abs(held.x - event.offsetX) > 3;
      if (held.moved) this.show([held.view[0] + by, held.view[1] + by]);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) this.choose(this.pieceAt(event.offsetX, event.offsetY));
      held = null;
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // Keys that go from row to row and from piece to piece.
  step(event) {
    const chosen = this.chosen || { row: 0, piece: firstAbove(this.rows[0].end, this.view[0], 0, this.rows[0].count) };
    let { row, piece } = chosen;
    if (event.key === "n") piece = Math.min(piece + 1, this.rows[row].count - 1);
    else if (event.key === "p") piece = Math.max(piece - 1, 0);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      row = Math.min(Math.max(row + (event.key === "ArrowUp" ? -1 : 1), 0), this.rows.length - 1);
      const at = this.rows[chosen.row].count ? this.rows[chosen.row].begin[chosen.piece] : 0;
      piece = Math.min(firstAbove(this.rows[row].end, at, 0, this.rows[row].count), Math.max(0, this.rows[row].count - 1));
    } else return;
    event.preventDefault();
    this.choose(this.rows[row].count ? { row, piece } : { row, piece: 0 });
  }

  plotWidth() { return this.width - gutter; }
  xOf(date) { return gutter + (date - this.view[0]) / (this.view[1] - this.view[0]) * this.plotWidth(); }
  dateAt(x) { return this.view[0] + (x - gutter) / this.plotWidth() * (this.view[1] - this.view[0]); }
  yOf(row) { return topMargin + row * this.rowHeight; }

  pieceAt(x, y) {
    const row = Math.floor((y - topMargin) / this.rowHeight);
    if (x < gutter || row < 0 || row >= this.rows.length) return null;
    const lane = this.rows[row], date = this.dateAt(x);
    const piece = firstAbove(lane.end, date, 0, lane.count);
    return piece < lane.count && lane.begin[piece] <= date ? { row, piece } : null;
  }

  choose(place) {
    this.chosen = place;
    this.told.textContent = place ? this.text(place) : "";
    this.draw();
  }

  hover(event) {
    if (this.chosen) return;
    const place = this.pieceAt(event.offsetX, event.offsetY);
    const text = place ? this.text(place) : "";
    if (this.told.textContent !== text) this.told.textContent = text;
  }

  // "worker 2 waits 12.3 ms for worker 3, clock 14, from 0.132 s"
  text({ row, piece }) {
    const lane = this.rows[row];
    if (!lane.count) return lane.name;
    const use = this.timeline.uses[lane.use[piece]], other = this.nameOf.get(lane.other[piece]);
    const verb = { compute: "computes", network: "has messages on their way for", wait: "waits", service: "works on a message for", down: "is down for" }[use];
    const whom = (use === "wait" || use === "service") && other && other !== lane.name ? (use === "wait" ? " for " : " of ") + other : "";
    return `${lane.name} ${verb} ${duration(lane.end[piece] - lane.begin[piece])}${whom}, clock ${lane.clock[piece]}, from ${rounded(lane.begin[piece])} s`;
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    this.width = width;
    this.height = topMargin + this.rows.length * this.rowHeight + 6;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.width = width + "px";
    this.canvas.style.height = this.height + "px";
    this.scale = scale;
    this.draw();
  }

  // Draws at most once per frame.
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      drawTimeLine(this);
    });
  }
}

function duration(seconds) {
  if (seconds >= 1) return rounded(seconds) + " s";
  return seconds >= 1e-3 ? rounded(seconds * 1e3) + " ms" : rounded(seconds * 1e6) + " \u00b5s";
}

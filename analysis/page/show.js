// The step-through: nodes as boxes, messages that travel between them, and the state of each node, event by event.
"use strict";

// The events to which keys and buttons jump.
const jumps = { u: (one) => one.what === "model_update", w: (one) => one.what === "wait", f: (one) => one.what === "fault", p: (one) => one.what === "sent" && one.word === "push" };

class Show {
  // `isFollower`: another one moves it. `isSmall`: it shares its place with others, and the address is not its own.
  constructor(host, show, line, { story, isFollower, isSmall } = {}) {
    this.isSmall = isSmall;
    this.ended = new AbortController();
    this.followers = [];
    this.show = show;
    this.line = line;
    this.story = story;
    this.events = shownEvents(show);
    this.messages = this.events.filter((one) => one.what === "sent");
    const begun = this.events.find((one) => one.what === "begun");
    this.begin = show.before ? this.events[show.before].at : story || !begun ? this.events[0].at : begun.at;
    this.end = Math.min(this.events.at(-1).at, line ? line.timeline.end : Infinity);
    this.unit = this.stepSeconds() / 6;  // simulated seconds in a second, at speed 1
    this.speed = 1;
    this.follows = null;
    this.places = placesOf(show);
    this.canvas = element("canvas", { role: "application", "aria-label": "The cluster. Space plays and stops, right and left go to the next and the previous event, u to the next update, w to the next end of a wait, f to the next fault." });
    this.canvas.tabIndex = 0;
    this.now = element("p", { class: "event" });
    this.said = element("p", { class: "unseen", role: "status" });
    this.why = element("p", { class: "hint why" });
    this.chips = element("div", { class: "chips" });
    const controls = this.controls();
    const below = [this.canvas, ...(isSmall ? [] : [legendOf([this])]), this.now, this.why], above = isFollower ? [] : [controls];
    host.replaceChildren(...(story ? [this.storyBar()] : []), ...(isSmall ? [...above, ...below] : [...below, ...above, this.chips]), this.said);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
    this.moment = 0;
    const linked = this.linked();
    if (story) this.tell(Math.max(0, story.moments.findIndex((one) => linked && one.event === linked.number)));
    else if (linked) this.goTo(linked.index);
    else this.seek(line && line.timeline.opens ? line.timeline.opens[0] : this.begin);
  }

  // The event of the address, "#event=120".
  linked() {
    const [, number] = (!this.isSmall && /^#event=(\d+)$/.exec(location.hash)) || [];
    return this.events.find((one) => String(one.number) === number);
  }

  // The sentence of a moment, with buttons to the next and the previous one.
  storyBar() {
    this.storyText = element("p", { class: "lead story", role: "status" });
    this.storyAt = element("span", { class: "hint" });
    [this.storyBack, this.storyNext] = [["back", -1], ["next", 1]].map(([text, by]) => button(text, "", () => this.tell(this.moment + by)));
    return element("div", {}, this.storyText, element("p", { class: "controls" }, this.storyBack, this.storyNext, this.storyAt));
  }

  tell(number) {
    const { moments } = this.story;
    this.moment = Math.max(0, Math.min(moments.length - 1, number));
    const one = moments[this.moment];
    this.storyText.textContent = one.says;
    this.storyAt.textContent = `${this.moment + 1} of ${moments.length}`;
    this.storyBack.disabled = this.moment === 0;
    this.storyNext.disabled = this.moment + 1 === moments.length;
    const event = this.events.find(({ number: its }) => its === one.event), isNext = event && event.at > this.at && number > 0;
    if (isNext && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.glideTo(event);
    else if (event) this.goTo(event.index);
  }

  // Plays until just after the event, in at most three seconds.
  glideTo(event) {
    this.stop();
    const from = this.at, seconds = Math.min(3, Math.max(0.6, (event.at - from) / this.unit)), begun = performance.now();
    const mine = this.gliding = {};
    const frame = (now) => {
      if (this.gliding !== mine) return;
      const share = Math.min(1, (now - begun) / 1000 / seconds);
      if (share === 1) return this.goTo(event.index);
      this.moveTo(from + share * (event.at - from));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  // Whether the sentence that is shown, or that someone points at, speaks of this node.
  isLit(name) {
    return Boolean(this.lit?.has(name) || this.story?.moments[this.moment].lit.includes(name));
  }

  // The usual time from the begin of a worker's step to the begin of its next one.
  stepSeconds() {
    const last = new Map(), gaps = [];
    for (const { what, node, at } of this.events) {
      if (what !== "begun") continue;
      if (last.has(node) && at > last.get(node)) gaps.push(at - last.get(node));
      last.set(node, at);
    }
    gaps.sort((a, b) => a - b);
    return gaps.length ? gaps[gaps.length >> 1] : (this.end - this.begin) / 20 || 1;
  }

  destroy() {
    this.stop();
    this.ended.abort();
  }

  controls() {
    this.playButton = button("\u25b6 play", "play or stop (space)", () => this.toggle());
    this.slider = element("input", { type: "range", min: 0, max: 1000, value: 0, class: "date", "aria-label": "date" });
    this.slider.addEventListener("input", () => this.seek(this.begin + (this.slider.value / 1000) * (this.end - this.begin)));
    const speed = element("select", { "aria-label": "speed" }, ...[0.1, 0.25, 0.5, 1, 2, 4, 10].map((one) => element("option", { value: one }, `${one}\u00d7`)));
    speed.value = 1;
    speed.addEventListener("change", () => { this.speed = Number(speed.value); });
    this.date = element("span", { class: "hint date" });
    const known = this.events.length - this.show.before, left = this.show.all - known;
    return element("div", { class: "controls" }, this.playButton, button("\u2190", "previous event (left)", () => this.step(-1)), button("\u2192", "next event (right)", () => this.step(1)),
      element("span", { class: "hint" }, "next"), ...[["update", "next update (u)", "u"], ["wait", "next end of a wait (w)", "w"], ["fault", "next fault (f)", "f"], ["push", "follow the next push from the gradient to the weights (p)", "p"]]
        .filter(([, , key]) => this.events.some(jumps[key]) && !(this.isSmall && key === "p")).map(([text, label, key]) => button(text, label, () => this.jump(key))),
      speed, this.slider, this.date,
      ...(this.isSmall ? [] : [button("save picture", "save this view as SVG", () => saved("psim.svg", frameOf(this))), button("save film", "save the next step as an animated SVG", () => saved("psim-film.svg", filmOf(this))),
      element("span", { class: "hint" }, "Space plays; the arrow keys, u, w, f and p go on; a click on a message follows it.")]), ...(left > 0 ? [element("span", { class: "hint" }, `${known.toLocaleString("en")} of ${this.show.all.toLocaleString("en")} events, from ${rounded(this.begin)} to ${rounded(this.end)} s.`)] : []));
  }

  listen() {
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const acts = { ...(this.story ? { Enter: () => this.tell(this.moment + 1), Backspace: () => this.tell(this.moment - 1) } : {}), " ": () => this.toggle(), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => this.seek(this.begin) };
      const act = acts[event.key] || (jumps[event.key] ? () => this.jump(event.key) : null);
      if (!act) return;
      event.preventDefault();
      act();
    });
    this.canvas.addEventListener("click", (event) => {
      const message = this.messageAt(event.offsetX, event.offsetY);
      if (!this.onTouch?.(event.offsetX, event.offsetY) && message) this.follow(message);
    });
    const { signal } = this.ended;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal });
    if (this.isSmall) return;
    addEventListener("hashchange", () => {
      const found = this.linked();
      if (found && found.index !== this.last) this.goTo(found.index);
    }, { signal });
  }

  // The nearest message on its way, if it is near; the node whose box is there.
  messageAt(x, y) {
    const near = this.flying().map((one) => [one, Math.hypot(...this.placeOf(one).map((v, i) => v - [x, y][i]))]).filter(([, far]) => far < 18);
    return near.sort((a, b) => a[1] - b[1]).map(([one]) => one)[0];
  }
  nodeAt(x, y) {
    return this.places.findIndex((place) => {
      const [width, height] = boxOf(this, place);
      return Math.abs(place[0] * this.width - x) <= width / 2 && Math.abs(place[1] * this.height - y) <= height / 2;
    });
  }

  toggle() {
    this.gliding = null;
    this.playing = !this.playing;
    this.playButton.setAttribute("aria-pressed", String(this.playing));
    this.playButton.textContent = this.playing ? "\u25a0 stop" : "\u25b6 play";
    if (!this.playing) return this.settle();
    if (this.at >= this.end) this.seek(this.begin);
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      this.moveTo(Math.min(this.end, this.at + ((now - before) / 1000) * this.unit * this.speed));
      before = now;
      if (this.at >= this.end) this.toggle();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    this.gliding = null;
    if (this.playing) this.toggle();
  }

  // The date, with all events until then.
  moveTo(at) {
    if (this.state === undefined || at < this.at) [this.state, this.last] = [startState(this.show, this.events), -1];
    while (this.last + 1 < this.events.length && this.events[this.last + 1].at <= at) apply(this.state, this.events[++this.last]);
    this.arrive(at);
  }

  // Shows the state at a date.
  arrive(at) {
    this.at = at;
    this.slider.value = Math.round((1000 * (at - this.begin)) / (this.end - this.begin || 1));
    this.slider.setAttribute("aria-valuetext", `${rounded(at)} s`);
    this.date.textContent = `${at.toFixed(Math.max(0, 2 - Math.floor(Math.log10(6 * this.unit))))} s`;
    if (this.line && !this.isSmall) this.line.mark(at);
    this.followers.forEach((other) => other.moveTo(Math.min(other.end, at)));
    this.draw();
  }

  seek(at) {
    this.stop();
    this.moveTo(Math.min(this.end, Math.max(this.begin, at)));
    this.settle();
  }

  // Just after this event, and before those that follow at the same date.
  goTo(index) {
    this.stop();
    const event = this.events[index];
    [this.state, this.last] = [startState(this.show, this.events), -1];
    while (this.last < index) apply(this.state, this.events[++this.last]);
    this.arrive(event.at);
    this.settle();
  }

  step(by) {
    const next = Math.min(this.events.length - 1, this.last + by);
    if (next >= 0 && next !== this.last && this.events[next].at >= this.begin) this.goTo(next);
  }

  jump(key) {
    const found = this.events.find((one) => one.index > this.last && one.at >= this.begin && jumps[key](one));
    if (!found) this.said.textContent = this.now.textContent = { u: "No update follows", w: "No wait ends after this", f: "No fault follows", p: "No push follows" }[key] + (this.show.all > this.events.length - this.show.before ? " in these events." : ".");
    else if (key === "p") this.follow(found);
    else this.goTo(found.index);
  }

  follow(message) {
    this.follows = message;
    const steps = message.word === "push" ? pathOfPush(this.events, message) : [[message, "sent"], ...this.events.filter((one) => one.sent === message && ["received", "lost"].includes(one.what)).map((one) => [one, one.what])];
    this.chips.replaceChildren(element("span", { class: "hint" }, `${message.word} of ${this.show.names[message.node]}:`), ...steps.map(([event, text]) => {
      const name = `${text} ${duration(event.at - message.at)}`;
      return button(name, `${name}: ${eventText(event, this.show)}`, () => this.goTo(event.index));
    }));
    this.goTo(message.index);
  }

  // The texts and the address of a view that stands still.
  settle() {
    const event = this.events[this.last];
    if (!event) return;
    this.said.textContent = this.now.textContent;
    if (this.last >= 0 && this.hasMoved && !this.isSmall) this.writeAddress(event.number);
    this.hasMoved = true;
  }

  // At most a few times a second: browsers refuse more.
  writeAddress(number) {
    clearTimeout(this.soon);
    const rest = 250 - (performance.now() - (this.written ?? -1000));
    if (rest > 0) this.soon = setTimeout(() => this.writeAddress(number), rest);
    else {
      this.written = performance.now();
      history.replaceState(null, "", "#event=" + number);
    }
  }

  flying() {
    return this.messages.filter((one) => one.index <= this.last && one.over > this.last);
  }

  // The ends of a message's way, at the edges of both boxes.
  wayOf(message) {
    const [from, to] = [this.places[message.node], this.places[message.peer]].map(([x, y]) => [x * this.width, y * this.height]);
    const way = [to[0] - from[0], to[1] - from[1]];
    const inside = (node) => Math.min(0.4, ...boxOf(this, this.places[node]).map((size, i) => size / 2 / Math.abs(way[i]) || 0.4));
    const point = (share) => [from[0] + way[0] * share, from[1] + way[1] * share];
    return [point(inside(message.node)), point(1 - inside(message.peer))];
  }

  placeOf(message) {
    const [from, to] = this.wayOf(message), [x, y] = [to[0] - from[0], to[1] - from[1]];
    const until = Number.isFinite(message.until) ? message.until : this.end;
    const passed = Math.min(1, (this.at - message.at) / (until - message.at || 1)) * (message.isLost ? 0.5 : 1);
    const beside = (message.bytes < 100 ? -5 : 5) / (Math.hypot(x, y) || 1);  // two at the same date are side by side
    return [from[0] + x * passed - y * beside, from[1] + y * passed + x * beside];
  }

  // The piece of a row of the time line at the date; -1: none.
  pieceOf(row) {
    const i = firstAbove(row.end, this.at, 0, row.count);
    return i < row.count && row.begin[i] <= this.at ? i : -1;
  }

  // What a worker does at the date: compute, network or wait, as the time line says.
  useOf(node) {
    const row = this.line && this.line.rows[this.line.rowByName.get(node.name)], i = row ? this.pieceOf(row) : -1;
    return i < 0 ? null : this.line.timeline.uses[row.use[i]];
  }

  // "Workers 0-2 wait for worker 3", from the time line.
  whyText() {
    if (!this.line) return "";
    const waits = new Map();
    for (const row of this.line.rows) {
      const i = this.pieceOf(row);
      if (i < 0 || this.line.timeline.uses[row.use[i]] !== "wait") continue;
      const whom = this.line.nameOf.get(row.other[i]);
      if (whom && whom !== row.name) waits.set(whom, [...(waits.get(whom) || []), row.name]);
    }
    return [...waits].map(([whom, names]) => `${namesOf(names)} wait${names.length > 1 ? "" : "s"} for ${whom}`).join("; ");
  }

  resize() {
    const scale = window.devicePixelRatio || 1, rows = new Set(this.places.map(([, y]) => y)).size;
    this.width = this.canvas.parentElement.clientWidth;
    this.height = this.isSmall ? 198 : !this.show.has_servers && this.show.workers > 8 ? 520 : Math.max(300, Math.min(520, 130 + 95 * rows));
    [this.canvas.width, this.canvas.height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    [this.canvas.style.width, this.canvas.style.height] = [this.width + "px", this.height + "px"];
    this.scale = scale;
    if (this.state) this.draw();
  }

  draw() {
    const event = this.events[this.last];
    this.now.textContent = event && event.at >= this.begin - 1e-12 ? eventText(event, this.show) + "." : "";
    this.why.textContent = this.whyText();
    if (this.story) this.storyText.classList.toggle("stale", !this.gliding && !(event && event.number === this.story.moments[this.moment].event));
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      drawShow(this, this.canvas.getContext("2d"), this.scale);
    });
  }
}

// Places of the nodes in the unit square: servers above workers, neighbours of a rack side by side; without servers a circle.
function placesOf(show) {
  const nodes = show.names.map((name, node) => node), count = nodes.length;
  const isServer = (node) => show.has_servers && node > 0 && node <= show.servers, isWorker = (node) => node > show.servers && node <= show.servers + show.workers;
  const places = Array(count);
  const row = (members, y, left = 0.06, right = 0.94) => members.forEach((node, i) => { places[node] = [members.length === 1 ? (left + right) / 2 : left + ((right - left) * i) / (members.length - 1), y]; });
  const workers = nodes.filter(isWorker).sort((a, b) => show.places[a].localeCompare(show.places[b], "en", { numeric: true }) || a - b);
  const others = nodes.filter((node) => node !== 0 && !isServer(node) && !isWorker(node));
  if (!show.has_servers) {
    workers.forEach((node, i) => { places[node] = [0.5 + 0.38 * Math.sin((2 * Math.PI * i) / workers.length), 0.5 - 0.38 * Math.cos((2 * Math.PI * i) / workers.length)]; });
    row([0, ...others], 0.5, 0.42, 0.58);
    return places;
  }
  const perRow = workers.length > 64 ? 25 : 16, lines = Math.ceil(workers.length / perRow);
  for (let i = 0; i < lines; ++i) {
    const members = workers.slice(Math.floor((i * workers.length) / lines), Math.floor(((i + 1) * workers.length) / lines));
    row(members, lines === 1 ? 0.82 : 0.5 + (0.4 * i) / (lines - 1));
  }
  const servers = nodes.filter(isServer), isFew = servers.length < 5 && others.length < 2;
  if (!isFew) row([0, ...servers, ...others], 0.16);
  else {
    row([0], 0.16, 0.06, 0.06);
    row(servers, 0.16, 0.5 - 0.085 * (servers.length - 1), 0.5 + 0.085 * (servers.length - 1));
    row(others, 0.16, 0.94, 0.94);
  }
  return places;
}

// {what: [colour, sign, words]}, for the picture and its legend. Uses of time are bars; only the sign of a push is a square.
const looks = {
  compute: ["compute", "", "computing"], network: ["network", "", "network"], wait: ["wait", "", "waiting"], service: ["service", "", "server at work"], down: ["down", "", "down"],
  push: ["s1", "\u25a0", "push"], chunk: ["s1", "\u25a0", "chunk"], weights: ["s2", "\u25cf", "weights"], pull: ["s5", "\u25cf", "pull"], message: ["soft", "\u25cf", "other"],
  lost: ["down", "\u2715", "lost"], suspected: ["s1", "\u2b1a", "suspected"],
};

// The colours and signs of what occurs in the events of these.
function legendOf(shows) {
  const seen = new Set(shows.flatMap((show) => show.messages.flatMap((one) => [looks[one.word] ? one.word : "message", one.isLost ? "lost" : ""])));
  for (const { events, line, begin: from, end: until } of shows) {
    if (events.some((one) => one.what === "suspicion")) seen.add("suspected");
    for (const { begin, end, use } of line ? line.rows : []) use.forEach((one, i) => { if (begin[i] < until && end[i] > from) seen.add(line.timeline.uses[one]); });
  }
  const sign = ([tint, shape]) => (shape ? element("span", { style: `color: var(--${tint})` }, shape) : element("span", { class: "key " + tint }));
  return element("p", { class: "hint looks" }, ...Object.keys(looks).filter((one) => seen.has(one)).map((one) => element("span", {}, sign(looks[one]), " " + looks[one][2])));
}

// `g`: a canvas, or a SvgPen.
function drawShow(show, g, scale = 1) {
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, show.width, show.height);
  g.textBaseline = "middle";
  show.rowLines = new Map();  // the most lines below a name, by the place of the row
  show.places.forEach(([, y], node) => show.rowLines.set(y, Math.max(show.rowLines.get(y) || 0, textsIn(show, show.state.nodes[node], node).length)));
  const flying = show.flying(), event = show.events[show.last];
  for (const one of flying) drawWay(g, show, one);
  if (show.show.has_servers) drawRacks(g, show);
  show.state.nodes.forEach((node, number) => drawNode(g, show, node, number, boxOf(show, show.places[number]), show.isLit(node.name) || (!show.story && event) && (event.node === number || (event.what === "fault" && event.peer === number))));
  drawFlights(g, show, flying);
}

// Width and height of a box in the row of a node, so that neighbours do not touch.
function boxOf(show, [, y]) {
  const { has_servers: hasServers, workers } = show.show, near = Math.PI / Math.max(workers, 3);
  const beside = show.places.filter((other) => other[1] === y).length;
  if (!hasServers && workers > 8) return [Math.max(14, Math.min(112, 0.7 * show.width * Math.sin(near))), workers > 16 ? 20 : 36];
  const width = Math.max(14, Math.min(112, (show.width * 0.86) / Math.max(beside, 7) - 6));
  return [width, width < 30 ? 26 : 26 + 13.5 * Math.max(2, Math.min(show.isSmall ? 3 : 6, show.rowLines ? show.rowLines.get(y) : 0))];
}

// A line above neighbours with the name of their rack.
function drawRacks(g, show) {
  const racks = new Map();
  show.show.places.forEach((place, node) => { if (place && node > show.show.servers) racks.set(place, [...(racks.get(place) || []), show.places[node]]); });
  g.fillStyle = g.strokeStyle = colour("soft");
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "center";
  g.lineWidth = 1;
  for (const [name, members] of racks) {
    for (const y of new Set(members.map((one) => one[1]))) {
      const across = members.filter((one) => one[1] === y).map((one) => one[0] * show.width), half = boxOf(show, [0, y])[0] / 2;
      const left = Math.min(...across) - half, right = Math.max(...across) + half, top = y * show.height - boxOf(show, [0, y])[1] / 2 - 7;
      g.beginPath();
      g.moveTo(left, top);
      g.lineTo(right, top);
      g.stroke();
      g.fillText(name, (left + right) / 2, top - 9);
    }
  }
}

function drawWay(g, show, message) {
  const [from, to] = show.wayOf(message);
  g.strokeStyle = colour(message === show.follows ? "accent" : "line");
  g.lineWidth = message === show.follows ? 2 : 1;
  g.beginPath();
  g.moveTo(...from);
  g.lineTo(...to);
  g.stroke();
}

// What a box says below its name: [text, ...].
function textsIn(show, node, number) {
  const { show: data, state } = show, isServer = data.has_servers && number > 0 && number <= data.servers;
  if (node.isDown) return [node.isAbsent ? "absent" : "down"];
  if (number === 0) return state.view === null ? [] : [`view ${state.view}`];
  if (!isServer) return [node.clock === null ? "" : `clock ${node.clock}`, node.leaves ? "leaves" : node.isFinished ? "finished" : { compute: "computing", network: "messages", wait: "waiting" }[show.useOf(node)] || ""].filter(Boolean);
  const shards = [...state.shards.values()].filter((one) => one.node === number && one.role !== "former" && one.role !== "next" && !one.isOld), owned = shards.filter((one) => one.role !== "replica");
  const pulls = owned.reduce((sum, one) => sum + one.pulls.size, 0), hasGate = data.group > 1, gate = `of ${data.varies ? "\u2264 " : ""}${data.group}`;
  const texts = owned.flatMap((one) => (owned.length > 1 ? [`shard ${one.shard}: version ${one.version}${hasGate ? `, ${one.arrived} ${gate}` : ""}`]
    : [`version ${one.version}`, ...(hasGate ? [`${one.arrived} ${gate} pushes`] : one.arrived ? [`${one.arrived} push${one.arrived > 1 ? "es wait" : " waits"}`] : [])]));
  if (pulls) texts.push(`${pulls} pull${pulls > 1 ? "s" : ""} wait${pulls > 1 ? "" : "s"}`);
  shards.filter((one) => one.role === "replica").forEach((one) => texts.push(`copy of ${one.shard}: version ${one.version}`));
  return texts;
}

function drawNode(g, show, node, number, [width, height], isActive) {
  const x = show.places[number][0] * show.width - width / 2, y = show.places[number][1] * show.height - height / 2;
  const use = node.isDown ? "down" : show.useOf(node);
  g.fillStyle = colour("paper");
  g.fillRect(x, y, width, height);
  g.fillStyle = colour(use ? looks[use][0] : "tint");
  g.fillRect(x, y, width, 5);
  g.strokeStyle = colour(isActive ? "accent" : node.suspected ? looks.suspected[0] : "soft");
  g.lineWidth = isActive ? 2.5 : 1;
  g.setLineDash(node.suspected ? [4, 3] : []);
  g.strokeRect(x, y, width, height);
  g.setLineDash([]);
  const isNarrow = width < 74, name = isNarrow ? node.name.replace(/^([a-z])[a-z]* (\d+)$/, "$1$2").replace("scheduler", "sched.") : node.name;
  const texts = [name, ...textsIn(show, node, number).map((text) => (isNarrow ? text.replace(/ push(es)?$/, "") : text))].filter(Boolean);
  g.textAlign = "center";
  g.save();
  g.beginPath();
  g.rect(x, y, width, height);
  g.clip();
  texts.slice(0, height < 40 ? 1 : show.isSmall ? 4 : 7).forEach((text, i) => {
    g.font = `${i ? "" : "600 "}${width < 60 ? 10 : 11.5}px system-ui, sans-serif`;
    g.fillStyle = colour(i ? "soft" : "ink");
    g.fillText(text, x + width / 2, y + 15 + i * 13.5, width - 4);
  });
  g.restore();
}

// Each message as a dot whose area grows with its bytes; a cross for one that is lost.
function drawFlights(g, show, flying) {
  const named = show.width > 600 && flying.filter((one) => one.word !== "heartbeat").length <= 6;
  g.textAlign = "left";
  for (const one of flying) {
    const [x, y] = show.placeOf(one), radius = Math.max(2.5, Math.min(9, 1.5 + Math.log10(Math.max(10, one.bytes))));
    const [tint, sign] = looks[one.word] || looks.message;
    g.fillStyle = colour(tint);
    g.strokeStyle = colour("paper");
    g.lineWidth = 1;
    g.beginPath();
    if (sign === looks.push[1]) g.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    else g.arc(x, y, radius, 0, 7);
    g.fill();
    g.stroke();
    if (one === show.follows) {
      g.strokeStyle = colour("accent");
      g.lineWidth = 3;
      g.stroke();
    }
    if (one.isLost) {
      g.strokeStyle = colour(looks.lost[0]);
      g.lineWidth = 2;
      g.beginPath();
      for (const side of [1, -1]) {
        g.moveTo(x - 7, y - 7 * side);
        g.lineTo(x + 7, y + 7 * side);
      }
      g.stroke();
    }
    if ((!named || one.word === "heartbeat") && one !== show.follows) continue;
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colour("ink");
    g.fillText(one.bytes ? `${one.word} ${sizeText(one.bytes)}` : one.word, x + radius + 3, y);
  }
}

// What drawShow needs of a canvas, as SVG.
class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, out: [], path: "", dash: [] });
  }
  setTransform() {}
  clearRect() {}
  setLineDash(dash) { this.dash = dash; }
  add(tag, attributes, text = "") {
    const all = Object.entries(attributes).map(([name, value]) => ` ${name}="${typeof value === "number" ? Number(value.toFixed(1)) : value}"`).join("");
    this.out.push(`<${tag}${all}>${text.replace(/[&<]/g, (one) => ({ "&": "&amp;", "<": "&lt;" })[one])}</${tag}>`);
  }
  strokes() { return { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, ...(this.dash.length ? { "stroke-dasharray": this.dash.join(" ") } : {}) }; }
  fillRect(x, y, width, height) { this.add("rect", { x, y, width, height, fill: this.fillStyle }); }
  strokeRect(x, y, width, height) { this.add("rect", { x, y, width, height, ...this.strokes() }); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${x.toFixed(1)} ${y.toFixed(1)}`; }
  lineTo(x, y) { this.path += `L${x.toFixed(1)} ${y.toFixed(1)}`; }
  rect(x, y, width, height) { this.path += `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`; }
  arc(x, y, r) { this.path += `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
  fill() { this.add("path", { d: this.path, fill: this.fillStyle }); }
  stroke() { this.add("path", { d: this.path, ...this.strokes() }); }
  save() {}
  clip() {}
  restore() {}
  fillText(text, x, y, most = Infinity) {
    const [, weight, size] = /^(600 )?([\d.]+)px/.exec(this.font);
    this.add("text", { x, y: y + Number(size) / 3, "font-size": size, fill: this.fillStyle, "text-anchor": this.textAlign === "center" ? "middle" : "start", ...(weight ? { "font-weight": 600 } : {}), ...(text.length * size * 0.6 > most ? { textLength: most, lengthAdjust: "spacingAndGlyphs" } : {}) }, text);
  }
}

const svgOf = (show, body) => `<svg xmlns="http://www.w3.org/2000/svg" data-psim="show" viewBox="0 0 ${show.width} ${show.height + 24}" font-family="DejaVu Sans, Verdana, sans-serif"><rect width="100%" height="100%" fill="${colour("paper")}"/>${body}</svg>\n`;

// The parts of a view; the last one is the date and the event below it.
function partsOf(show) {
  const pen = new SvgPen(show.width, show.height);
  drawShow(show, pen);
  Object.assign(pen, { font: "12px system-ui", textAlign: "start", fillStyle: colour("ink") });
  pen.fillText(`${show.date.textContent}  ${show.now.textContent}`, 8, show.height + 10);
  return pen.out;
}
const frameOf = (show) => svgOf(show, partsOf(show).join(""));

// One step from here on. Each part stands once, with the times at which it shows.
function filmOf(show) {
  const frames = 48, seconds = 6, from = show.at, index = show.last, shownIn = new Map();
  for (let i = 0; i < frames; ++i) {
    show.moveTo(Math.min(show.end, from + (i * show.unit * seconds) / frames));
    for (const part of partsOf(show)) shownIn.set(part, [...(shownIn.get(part) || []), i]);
  }
  show.goTo(Math.max(0, index));
  if (show.at < from) show.moveTo(from);
  const always = [...shownIn].filter(([, at]) => at.length >= frames).map(([part]) => part);
  const moving = [...shownIn].filter(([, at]) => at.length < frames).map(([part, at]) => {
    const changes = Array.from({ length: frames }, (_, i) => i).filter((i) => i === 0 || at.includes(i) !== at.includes(i - 1));
    const values = changes.map((i) => (at.includes(i) ? "inline" : "none")), times = changes.map((i) => Number((i / frames).toFixed(4)));
    return `<g display="none"><animate attributeName="display" values="${values.join(";")}" keyTimes="${times.join(";")}" dur="${seconds}s" calcMode="discrete" repeatCount="indefinite"/>${part}</g>`;
  });
  return svgOf(show, always.join("") + moving.join(""));
}

function saved(name, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

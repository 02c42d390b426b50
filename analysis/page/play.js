// The playground: the settings of two sides, their results, and the address that stores the settings.
"use strict";
if (data.kind === "play") {
  const source = data.results ? new GridSource() : new LiveSource();
  const known = new Map(data.controls.map((control) => [control.name, control]));
  const at = (id) => document.getElementById(id);
  const usual = () => Object.fromEntries(data.controls.map((control) => [control.name, control.usual]));
  let measure = "accuracy";
  if (!source.isLive) {
    document.querySelector("#lines .intro").textContent = "The first six clocks, with the first seed. Drag to move, click a piece to see what it waits for.";
    document.querySelector("#reasons .intro").textContent = "From the first seed.";
  }
  if (data.title) document.querySelector("header .question").textContent = data.title;

  // "workers:8,crash:server"; usual values are left out.
  const word = encodeURIComponent;
  const written = (settings) => data.controls.filter((c) => settings[c.name] !== c.usual).map((c) => `${word(c.name)}:${word(settings[c.name])}`).join(",");
  const plain = (text) => new URLSearchParams("x=" + text.replaceAll("+", "%2B")).get("x");  // allows a lone per cent sign
  // The settings of one side, and what is wrong with them in the address.
  function readSettings(text) {
    const settings = usual(), mistakes = [], seen = new Set();
    for (const part of (text || "").split(",").filter(Boolean)) {
      const colon = part.indexOf(":"), name = plain(colon < 0 ? part : part.slice(0, colon)), value = plain(part.slice(colon + 1)), control = known.get(name);
      if (!control) mistakes.push(`There is no control ${name}. The controls: ${[...known.keys()].join(", ")}.`);
      else if (colon < 0 || !control.values.includes(value)) mistakes.push(`${name} cannot be ${colon < 0 ? "empty" : value}. Its values: ${control.values.join(", ")}.`);
      else if (seen.has(name)) mistakes.push(`${name} stands twice.`);
      else settings[name] = value;
      seen.add(name);
    }
    return { settings, mistakes };
  }
  function readAddress() {
    const parts = new Map(), wrong = [], isPlace = document.getElementById(plain(location.hash.slice(1))) !== null;
    for (const part of isPlace ? [] : location.hash.slice(1).split("&").filter(Boolean)) {
      const name = part.split("=", 1)[0];
      if (!["a", "b", "hide", "challenge"].includes(name) || !part.includes("=")) wrong.push(`${plain(part)} is unknown: the address has a=, b=, hide= and challenge=.`);
      else if (parts.has(name)) wrong.push(`${name}= stands twice.`);
      parts.set(name, part.slice(name.length + 1));
    }
    const named = plain(parts.get("challenge") || ""), challenge = (data.challenges || []).find((one) => one.name === named);
    if (named && !challenge) wrong.push(`There is no challenge ${named}.`);
    const begin = challenge ? [challenge.start, challenge.start] : data.begin || [{}, {}], hidden = new Set((parts.get("hide") || "").split(",").map(plain).filter(Boolean));
    const shorts = new Set(data.controls.flatMap((c) => [c.name, c.name.split(".").at(-1)]));
    hidden.forEach((name) => { if (!shorts.has(name)) wrong.push(`hide= names ${name}, which is no control.`); });
    const side = (name, number) => {
      const read = parts.has(name) ? readSettings(parts.get(name)) : { settings: { ...usual(), ...begin[number] }, mistakes: [] };
      const fixed = challenge ? data.controls.filter((one) => isFixed(challenge, one.name) && read.settings[one.name] !== (challenge.start[one.name] ?? one.usual)) : [];
      return { ...read, mistakes: [...wrong, ...read.mistakes, ...fixed.map((one) => `This challenge does not move ${one.name}.`)] };
    };
    return { sides: [side("a", 0), side("b", 1)], hidden, hide: parts.get("hide"), challenge };
  }

  const isFixed = (challenge, setting) => Boolean(challenge) && !challenge.moves.includes(setting);

  // What the result of a side misses of the goal; empty: nothing.
  function missing(side) {
    const of = (value) => (value in side.settings ? Number(side.settings[value]) : value.split("/").slice(1).reduce((found, key) => found?.[key], side.made.result));
    const text = (value, unit) => (!Number.isFinite(value) ? "never" : unit === "%" ? `${Math.round(100 * value)} %` : `${rounded(value)} ${unit}`.trim());
    return address.challenge.goal.map(({ value, name, unit, least = -Infinity, most = Infinity }) => {
      const is = of(value), isMet = Number.isFinite(is) && is >= least && is <= most;
      return isMet ? "" : `${name}: ${text(is, unit)}; the goal is ${most < Infinity ? `at most ${text(most, unit)}` : `at least ${text(least, unit)}`}`;
    }).filter(Boolean);
  }
  function drawChallenge() {
    const { challenge } = address, judged = challenge ? ready().filter((side) => !side.host.classList.contains("own")) : [];
    at("guess").hidden = at("guessed").hidden = Boolean(challenge);
    at("challenges").querySelector("select").value = challenge ? challenge.name : "";
    const verdicts = judged.map((side) => [side, missing(side).join(", ")]), isSolved = verdicts.some(([, missed]) => !missed);
    at("challenge").replaceChildren(...(challenge ? [element("p", { class: "task" }, isSolved ? challenge.lesson : challenge.text)] : []),
      ...verdicts.map(([side, missed]) => ofSide(side, "p", {}, element("b", {}, "AB"[side.number]), ` ${missed || "reached the goal."}`)));
  }
  function offerChallenges() {
    const menu = element("select", {}, element("option", { value: "" }, "none"), ...data.challenges.map((one) => element("option", { value: one.name }, one.name)));
    menu.addEventListener("change", () => { location.hash = menu.value ? "challenge=" + word(menu.value) : ""; });
    at("challenges").append(menu);
  }

  class Side {
    constructor(number) {
      this.number = number;
      this.how = element("div", { class: "how", role: "status" });
      this.inputs = new Map();
      this.rows = element("div", {});
      this.more = element("details", {}, element("summary", {}, "more"));
      this.host = element("div", { class: `side s${number}` }, element("h2", {}, "AB"[number]), this.rows, this.more, this.how);
      data.controls.filter((c) => !address.hidden.has(c.name) && !address.hidden.has(c.name.split(".").at(-1))).forEach((one) => this.control(one));
      at("sides").append(this.host);
    }

    // Those that matter most, and the others behind "more"; in a challenge first those that it moves.
    arrange() {
      [...this.inputs.values()].forEach(({ control, row }, i) => {
        const isRare = address.challenge ? isFixed(address.challenge, control.name) : control.rare || i >= 8;
        (isRare ? this.more : this.rows).append(row);
      });
      this.more.hidden = !this.more.querySelector(".setting");
      this.showSettings();
    }

    control(control) {
      const id = `${control.name}-${this.number}`;
      const isScale = control.values.length > 5 || control.values.every((value) => /^[\d.]+\D*$/.test(value));
      const input = isScale
        ? element("input", { id, type: "range", min: 0, max: control.values.length - 1, step: 1 })
        : element("select", { id }, ...control.values.map((value) => element("option", { value }, value)));
      const shown = isScale ? element("output", { for: id }) : "";
      input.addEventListener("input", () => this.choose(control.name, isScale ? control.values[input.value] : input.value));
      const row = element("div", { class: "setting", title: control.doc }, element("label", { for: id }, control.label), input, shown);
      this.inputs.set(control.name, { control, input, shown, row, isScale });
    }

    choose(name, value) {
      if (!expected) at("guessed").textContent = "";
      this.settings[name] = value;
      this.isEdited = false;
      this.showSettings();
      writeAddress();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.go({ settings: this.settings }), source.isLive ? 20 : 0);
    }

    showSettings() {
      for (const [name, { control, input, shown, row, isScale }] of this.inputs) {
        const value = this.settings[name];
        input.value = isScale ? control.values.indexOf(value) : value;
        if (isScale) {
          shown.textContent = value;
          input.setAttribute("aria-valuetext", value);
        }
        const counts = Object.entries(control.when || {}).every(([other, needed]) => this.settings[other] === needed) && !isFixed(address.challenge, name);
        row.classList.toggle("idle", !counts);
        input.disabled = !counts;
      }
    }

    // Runs these settings of the address, or says what is wrong with them.
    begin({ settings, mistakes }) {
      this.settings = settings;
      this.arrange();
      if (!mistakes.length) return this.go({ settings });
      if (this.asked) this.asked.abort();
      this.asked = null;
      this.fail("The address of this page has a mistake, so nothing ran:\n" + mistakes.join("\n"));
      this.rest();
    }

    fail(text) {
      this.made = null;
      this.how.className = "how wrong";
      this.how.replaceChildren(element("pre", {}, text));
    }

    rest() {
      this.host.classList.remove("busy");
      if (sides.every((side) => !side.host.classList.contains("busy"))) at("compared").classList.remove("stale");
      drawResults();
    }

    async go(request) {
      if (this.asked) this.asked.abort();
      const asked = this.asked = new AbortController();
      this.host.classList.toggle("own", Boolean(request.scenario));  // the sliders do not tell what runs
      this.host.classList.add("busy");
      at("compared").classList.add("stale");
      document.querySelectorAll(`[data-side="${this.number}"]`).forEach((old) => old.classList.add("stale"));
      try {
        const made = await source.run(request, (said) => this.tell(said), asked.signal);
        if (asked !== this.asked) return;
        this.made = made;
        this.how.className = "how";
        this.how.replaceChildren(element("p", {}, `${request.scenario ? "done, a text of its own: " : "done: "}${(made.result.name || "").replace("scenario under ", "")}`), ...(made.result.stuck || []).map((text) => element("p", {}, "Stuck: " + text)));
      } catch (error) {
        if (asked !== this.asked) return;
        this.fail(error.message);
      }
      this.rest();
    }

    tell(said) {
      if (said.scenario) this.scenario = said.scenario;
      const bar = element("progress", { max: 1 });
      let text = "running";
      if (said.waiting !== undefined) text = said.waiting === 1 ? "1 run is ahead of this one" : `${said.waiting} runs are ahead of this one`;
      if (said.progress) {
        if (said.progress.share) bar.value = said.progress.share;
        text = `simulated ${rounded(said.progress.sim_time_s)} s, ${said.progress.updates} update${said.progress.updates === 1 ? "" : "s"}`;
      }
      this.how.className = "how";
      this.how.replaceChildren(bar, element("p", {}, text));
    }
  }

  function writeAddress() {
    const parts = sides.map((side, i) => `${"ab"[i]}=${written(side.settings)}`);
    if (address.hide) parts.push("hide=" + address.hide);
    if (address.challenge) parts.push("challenge=" + word(address.challenge.name));
    history.replaceState(null, "", "#" + parts.join("&"));
  }

  const ready = () => sides.filter((side) => side.made);

  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const isTime = (name) => name === "length of the run" || name.startsWith("time to ");
  const fact = (side, name) => (side.made && side.made.result.facts.find((one) => one.name === name)) || { value: null, text: "-" };

  // What the first row of the table says, in words; null: nothing yet. `than`: B is ... A.
  function outcome() {
    if (ready().length < 2) return null;
    for (const { name } of sides[0].made.result.facts.filter((one) => isTime(one.name))) {
      const [a, b] = sides.map((side) => fact(side, name).value), both = `${capital(name)}: A ${sides.map((side) => fact(side, name).text).join(", B ")}`;
      if (a === null && b === null) continue;
      if (a === null || b === null) return { than: a === null ? "faster" : "slower", text: `${both}. Only ${a === null ? "B" : "A"} got there.` };
      if (!(a > 0 && b > 0)) continue;
      const factor = Math.max(a / b, b / a), than = factor < 1.05 ? "about as fast" : b < a ? "faster" : "slower";
      return { than, text: `${both}. B is ${factor < 1.05 ? than + " as A" : `${rounded(Number(factor.toPrecision(3)))}\u00d7 ${than} than A`}.` };
    }
    return null;
  }

  // Compares what the user expected with the first results after that.
  let expected = null;
  function compareExpected() {
    const now = outcome();
    if (!expected || !now || sides.some((side) => side.host.classList.contains("busy"))) return;
    at("guessed").textContent = `You expected B to be ${expected}${expected === "about as fast" ? " as A" : ""}: ${expected === now.than ? "right" : "not so"}. ${now.text}`;
    expected = null;
    at("guess").querySelectorAll("input").forEach((input) => { input.checked = false; });
  }

  function drawFacts() {
    const names = [...new Set(ready().flatMap((side) => side.made.result.facts.map((one) => one.name)))];
    const ratio = (name) => {
      const [a, b] = sides.map((side) => fact(side, name).value);
      if (!(a > 0 && b > 0)) return "";
      const factor = Number(Math.max(a / b, b / a).toPrecision(3));
      if (factor === 1 || fact(sides[0], name).text === fact(sides[1], name).text) return "the same";
      return `${rounded(factor)}\u00d7 ${b < a ? (isTime(name) ? "faster" : "less") : isTime(name) ? "slower" : "more"}`;
    };
    const doc = (name) => ready().map((side) => fact(side, name).doc).find(Boolean);
    const head = element("tr", {}, element("td", {}), ...sides.map((side) => element("th", { scope: "col", class: "number" }, "AB"[side.number])), element("th", { scope: "col", class: "number" }, "B against A"));
    at("facts").replaceChildren(element("thead", {}, head), element("tbody", {}, ...names.map((name) => element("tr", {},
      element("th", { scope: "row", title: doc(name) }, name), ...sides.map((side) => element("td", { class: "number" }, fact(side, name).text)),
      element("td", { class: "number" }, ratio(name))))));
  }

  function drawCurves() {
    const curves = ready().map((side) => ({ series: side.number, label: "AB"[side.number], ...side.made.result.curves[measure] })).filter((c) => c.x && c.x.length);
    if (!curves.length) return at("curves").replaceChildren();
    const goal = ready()[0].made.result.goal?.[measure];
    const log = measure === "loss" && curves.every((c) => c.mean.every((y) => y > 0));
    chart(at("curves"), { curves, xName: "simulated time [s]", yName: measure === "loss" ? "loss" : "accuracy [%]", log, ...(goal ? { goal } : {}) });
  }

  // Parts of the page that show one side: dimmed while new settings of that side run.
  const ofSide = (side, name, attributes, ...children) => element(name, { ...attributes, "data-side": side.number, class: `s${side.number} ${side.host.classList.contains("busy") ? "stale" : ""}` }, ...children);

  function drawLines() {
    const section = at("lines");
    const lines = ready().filter((side) => side.made.result.drawn && side.made.result.drawn.timeline).map((side) => {
      const host = element("div");
      section.append(ofSide(side, "div", {}, element("h3", {}, "AB"[side.number]), host));
      const { timeline, events, path } = side.made.result.drawn;
      const line = new TimeLine(host, timeline, events, path);
      line.openAt(4);
      return line;
    });
    const end = Math.max(0, ...lines.map((line) => line.view[1]));
    lines.forEach((line) => line.show([0, end]));
    section.hidden = !lines.length;
    window.timeLines = lines;
    return lines;
  }

  // Both clusters at the same date. After a break by hand it stays at that date.
  let stage = [], keepsDate = false;
  function drawStage(lines) {
    const before = stage.length ? stage[0].at : null;
    stage.forEach((one) => one.destroy());
    const shown = ready().filter((side) => side.made.result.drawn && side.made.result.drawn.show);
    at("stage").hidden = !shown.length;
    stage = shown.map((side, i) => {
      const host = element("div");
      at("stage").append(ofSide(side, "div", {}, host));
      const one = new Show(host, side.made.result.drawn.show, lines.find((line) => line.timeline === side.made.result.drawn.timeline), { isFollower: i > 0, isSmall: true });
      one.onTouch = (x, y) => breakAt(side, one, x, y);
      one.canvas.addEventListener("dragover", (event) => event.preventDefault());
      one.canvas.addEventListener("drop", (event) => { event.preventDefault(); breakAt(side, one, event.offsetX, event.offsetY); });
      return one;
    });
    if (!stage.length) return;
    at("stage").append(legendOf(stage));
    stage[0].followers = stage.slice(1);
    stage[0].begin = Math.max(...stage.map((one) => one.begin));  // the dates that all have
    stage[0].end = Math.max(stage[0].begin, Math.min(...stage.map((one) => one.end)));
    stage[0].seek(keepsDate ? before : stage[0].begin);
    if (!keepsDate && !matchMedia("(prefers-reduced-motion: reduce)").matches) stage[0].toggle();
    window.stage = stage;
  }

  // Faults to put on a node or a message: {name of its button, what it needs, the [[fault]]}.
  const seconds = (date) => `"${date.toFixed(9)}s"`, list = (...names) => JSON.stringify(names);
  const breaks = [
    ["crash", "node", (node, date) => `kind = "crash"\nnodes = ${list(node)}\nat = ${seconds(date)}`],
    ["slow", "node", (node, date) => `kind = "slow"\nnodes = ${list(node)}\nfactor = 0.25\nfrom = ${seconds(date)}`],
    ["cut", "node", (node, date) => `kind = "link-down"\nnodes = ${list(node)}\nat = ${seconds(date)}\nlasts = "500ms"`],
    ["lose", "message", (message, names) => `kind = "drop"\nbetween = [${list(names[message.node])}, ${list(names[message.peer])}]\nmessages = ${list(message.word)}\nfrom = ${seconds(message.at - 2e-9)}\nuntil = ${seconds(message.at + 2e-9)}`],
  ];
  let chosenBreak = null;
  function chooseBreak(chosen) {
    chosenBreak = chosen;
    at("breaks").querySelectorAll("button").forEach((one, i) => one.setAttribute("aria-pressed", String(breaks[i] === chosen)));
  }
  function drawBreaks() {
    const buttons = breaks.map((one) => {
      const made = button(one[0], `${one[0]} a ${one[1]}: drag this onto it, or press this and click it`, () => chooseBreak(chosenBreak === one ? null : one));
      made.draggable = true;
      made.addEventListener("dragstart", () => chooseBreak(one));
      return made;
    });
    at("breaks").append(element("span", { class: "hint" }, "break it:"), ...buttons, element("span", { class: "hint", id: "broken", role: "status" }, "Drag one onto a node (\u201close\u201d onto a message), or press it and then the node. The other cluster becomes the same with this fault."));
  }

  // Runs the cluster of `side` as the other one, with a fault at the date that is shown. Faults bring heartbeats and
  // acknowledgements, so `side` first runs with them, too: until the fault both are the same.
  function breakAt(side, show, x, y) {
    if (!chosenBreak || !source.isLive) return false;
    const [name, needs, fault] = chosenBreak, message = show.messageAt(x, y), node = show.nodeAt(x, y);
    if (needs === "message" ? !message : node < 0) return false;
    chooseBreak(null);
    breakWith(side, name, needs === "message" ? [message, show.show.names] : [show.show.names[node], show.at], fault);
    return true;
  }
  async function breakWith(side, name, [what, more], fault) {
    const other = sides[1 - side.number], isMessage = typeof what === "object", date = stage[0].at;
    let text = side.text.value;
    keepsDate = true;
    if (!/^\[recovery\]/m.test(text)) {
      text += "\n[recovery]\nenabled = true\n";
      await runText(side, text);
    }
    let target = what;
    if (isMessage && side.made) target = shownEvents(side.made.result.drawn.show).find((one) => one.what === "sent" && ["word", "node", "peer", "shard", "clock", "version"].every((key) => one[key] === what[key]));
    if (!side.made || !target) at("broken").textContent = "This message is not sent any more.";
    else {
      const toml = `${text}\n[[fault]]\n${fault(target, more)}\n`;
      await runText(other, toml);
      at("broken").textContent = `${"AB"[other.number]} is ${"AB"[side.number]} with ${name} ${isMessage ? `the ${what.word} of ${more[what.node]}` : what} at ${rounded(isMessage ? target.at : date)} s. \u201cTake it with you\u201d has its TOML.`;
    }
    keepsDate = false;
  }
  function runText(side, text) {
    side.text.value = text;
    side.isEdited = true;  // the text stays, whatever the result
    return side.go({ scenario: text });
  }

  // Why the first row says what it says; and the whole run, if that is more.
  function reasonsOf({ milestone, facts, sentences }) {
    const paragraphs = (title, texts) => [element("p", { class: "kind" }, title), ...texts.map((text) => element("p", {}, text))];
    const length = facts.find((one) => one.name === "length of the run").text;
    if (!milestone || !milestone.name) return paragraphs(`The run, ${length}:`, sentences);
    if (milestone.at_s === null) return paragraphs(`The run did not get there (${milestone.name}). All of it, ${length}:`, sentences);
    const whole = JSON.stringify(sentences) === JSON.stringify(milestone.sentences) ? [] : paragraphs("The whole run:", sentences);
    return [...paragraphs(`${capital(milestone.name)}, ${rounded(milestone.at_s)} s:`, milestone.sentences), ...whole];
  }

  function drawReasons() {
    const now = outcome();
    at("outcome").textContent = now ? now.text : "";
    const firsts = ready().map((side) => [side, (side.made.result.milestone?.sentences || [])[0] || side.made.result.sentences[0]]).filter(([, text]) => text);
    at("because").replaceChildren(...firsts.map(([side, text]) => ofSide(side, "p", {}, element("b", {}, "AB"[side.number]), " " + text)));
    for (const side of ready().filter((one) => one.made.result.sentences.length))
      at("reasons").append(ofSide(side, "div", {}, element("h3", {}, "AB"[side.number]), ...reasonsOf(side.made.result)));
  }

  // An edited text stays until the user runs it or moves a slider of its side.
  function drawScenarios() {
    for (const side of sides) {
      if (!side.text) at("scenarios").append(scenarioOf(side));
      side.text.closest("details").classList.toggle("stale", side.host.classList.contains("busy"));
      const text = side.made ? side.made.scenario : side.scenario;
      if (text && !side.isEdited) side.text.value = text;
    }
  }

  function scenarioOf(side) {
    const name = "AB"[side.number];
    const text = side.text = element("textarea", { spellcheck: "false", "aria-label": `scenario of ${name}` });
    text.readOnly = !source.isLive;
    text.addEventListener("input", () => { side.isEdited = true; });
    const copy = button("copy as scenario", "", () => copied(text.value, text));
    const run = button("run this text", "", () => runText(side, text.value));
    return ofSide(side, "details", {}, element("summary", {}, `${source.isLive ? "scenario" : "command"} of ${name}`), text,
      element("p", { class: "controls" }, copy, ...(source.isLive ? [run] : [])));
  }

  async function copied(text, field) {
    try {
      await navigator.clipboard.writeText(text);
      at("copied").textContent = !field && document.querySelector(".own") ? "copied, without the text of its own: copy that below" : "copied";
    } catch {
      if (field) field.select();
      at("copied").textContent = field ? "selected: copy it with Ctrl-C" : "copy it from the browser's address bar";
    }
  }

  function drawResults() {
    document.querySelectorAll(":is(#lines, #stage, #reasons) [data-side], #stage .looks").forEach((old) => old.remove());
    drawFacts();
    drawCurves();
    drawStage(drawLines());
    drawReasons();
    drawScenarios();
    compareExpected();
    if (data.challenges) drawChallenge();
  }

  let address = readAddress();
  const sides = [new Side(0), new Side(1)];
  at("guess").append(choice("expected", "First say what you expect. After the next change B is, compared with A,", [["faster", "faster"], ["about as fast", "about as fast"], ["slower", "slower"]], null, (value) => {
    expected = value;
    at("guessed").textContent = "Now move a slider of A or B.";
  }));
  at("curves-choice").append(choice("measure", "curve", [["accuracy", "accuracy"], ["loss", "loss"]], measure, (value) => { measure = value; drawCurves(); }));
  if (source.isLive) drawBreaks();
  if (data.challenges) offerChallenges();
  at("copy-link").addEventListener("click", () => copied(source.isLive ? location.hash : location.href, null));
  const begin = () => address.sides.forEach((read, i) => sides[i].begin(read));
  addEventListener("hashchange", () => {
    address = readAddress();
    begin();
  });
  begin();
  window.playground = { sides, ready };
}

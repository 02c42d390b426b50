// The playground: the settings of two sides, their results, and the address that stores the settings.
"use strict";
{
  const source = data.results ? new GridSource(data.results, data.controls) : new LiveSource();
  const known = new Map(data.controls.map((control) => [control.name, control]));
  const at = (id) => document.getElementById(id);
  const usual = () => Object.fromEntries(data.controls.map((control) => [control.name, control.usual]));
  let measure = "accuracy";
  if (!source.isLive) document.querySelector("#lines .intro").textContent = "The first six clocks, with the first seed. Drag to move, click a piece to see what it waits for.";
  if (data.title) document.querySelector("header .question").textContent = data.title;

  // "workers:8,crash:server"; usual values are left out.
  const word = encodeURIComponent;
  const written = (settings) => data.controls.filter((c) => settings[c.name] !== c.usual).map((c) => `${word(c.name)}:${word(settings[c.name])}`).join(",");
  function plain(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;  // the user typed a per cent sign
    }
  }
  function readSettings(text) {
    const settings = usual();
    for (const part of (text || "").split(",")) {
      const colon = part.indexOf(":"), control = known.get(plain(part.slice(0, colon))), value = plain(part.slice(colon + 1));
      if (control && control.values.includes(value)) settings[control.name] = value;
    }
    return settings;
  }
  function readAddress() {
    const parts = new Map(location.hash.slice(1).split("&").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]));
    const begin = data.begin || [{}, {}];
    const side = (name, number) => (parts.has(name) ? readSettings(parts.get(name)) : { ...usual(), ...begin[number] });
    return { sides: [side("a", 0), side("b", 1)], hidden: new Set((parts.get("hide") || "").split(",").map(plain)), hide: parts.get("hide") };
  }

  class Side {
    constructor(number, settings, hidden) {
      this.number = number;
      this.settings = settings;
      this.how = element("div", { class: "how", role: "status" });
      this.inputs = new Map();
      this.host = element("div", { class: `side s${number}` },
        element("h2", {}, "AB"[number]), ...data.controls.filter((c) => !hidden.has(c.name) && !hidden.has(c.name.split(".").at(-1))).map((c) => this.control(c)), this.how);
      at("sides").append(this.host);
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
      return row;
    }

    choose(name, value) {
      this.settings[name] = value;
      this.isEdited = false;
      this.showSettings();
      writeAddress();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.go({ settings: this.settings }), source.isLive ? 120 : 0);
    }

    showSettings() {
      for (const [name, { control, input, shown, row, isScale }] of this.inputs) {
        const value = this.settings[name];
        input.value = isScale ? control.values.indexOf(value) : value;
        if (isScale) {
          shown.textContent = value;
          input.setAttribute("aria-valuetext", value);
        }
        const counts = Object.entries(control.when || {}).every(([other, needed]) => this.settings[other] === needed);
        row.classList.toggle("idle", !counts);
        input.disabled = !counts;
      }
    }

    async go(request) {
      if (this.asked) this.asked.abort();
      const asked = this.asked = new AbortController();
      this.host.classList.add("busy");
      at("compared").classList.add("stale");
      try {
        const made = await source.run(request, (said) => this.tell(said), asked.signal);
        if (asked !== this.asked) return;
        this.made = made;
        this.how.className = "how";
        this.how.replaceChildren(element("p", {}, "done: " + (made.result.name || "").replace("scenario under ", "")), ...(made.result.stuck || []).map((text) => element("p", {}, "Stuck: " + text)));
      } catch (error) {
        if (asked !== this.asked) return;
        this.made = null;
        this.how.className = "how wrong";
        this.how.replaceChildren(element("pre", {}, error.message));
      }
      this.host.classList.remove("busy");
      if (sides.every((side) => !side.host.classList.contains("busy"))) at("compared").classList.remove("stale");
      drawResults();
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
    if (first.hide) parts.push("hide=" + first.hide);
    history.replaceState(null, "", "#" + parts.join("&"));
  }

  const ready = () => sides.filter((side) => side.made);

  const times = new Set(["time to 90 % accuracy", "length of the run"]);

  function drawFacts() {
    const made = ready();
    const facts = made.length ? made[0].made.result.facts : [];
    const fact = (side, name) => (side.made ? side.made.result.facts.find((one) => one.name === name) : { value: null, text: "-" });
    const ratio = (name) => {
      const [a, b] = sides.map((side) => fact(side, name).value);
      if (!(a > 0 && b > 0)) return "";
      const factor = Number(Math.max(a / b, b / a).toPrecision(3)), isTime = times.has(name);
      if (factor === 1) return "the same";
      return `${rounded(factor)}\u00d7 ${b < a ? (isTime ? "faster" : "less") : isTime ? "slower" : "more"}`;
    };
    const head = element("tr", {}, element("td", {}), ...sides.map((side) => element("th", { scope: "col", class: "number" }, "AB"[side.number])), element("th", { scope: "col", class: "number" }, "B against A"));
    at("facts").replaceChildren(element("thead", {}, head), element("tbody", {}, ...facts.map(({ name, doc }) => element("tr", {},
      element("th", { scope: "row", title: doc }, name), ...sides.map((side) => element("td", { class: "number" }, fact(side, name).text)),
      element("td", { class: "number" }, ratio(name))))));
  }

  function drawCurves() {
    const curves = ready().map((side) => ({ series: side.number, label: "AB"[side.number], ...side.made.result.curves[measure] })).filter((c) => c.x && c.x.length);
    if (!curves.length) return at("curves").replaceChildren();
    const log = measure === "loss" && curves.every((c) => c.mean.every((y) => y > 0));
    chart(at("curves"), { curves, xName: "simulated time [s]", yName: measure === "loss" ? "loss" : "accuracy [%]", log });
  }

  function drawLines() {
    const section = at("lines");
    section.querySelectorAll("h3, .line-host").forEach((old) => old.remove());
    const lines = ready().filter((side) => side.made.result.drawn && side.made.result.drawn.timeline).map((side) => {
      const host = element("div", { class: "line-host" });
      section.append(element("h3", { class: "s" + side.number }, "AB"[side.number]), host);
      const { timeline, events, path } = side.made.result.drawn;
      const line = new TimeLine(host, timeline, events, path);
      line.openAt(4);
      return line;
    });
    const end = Math.max(0, ...lines.map((line) => line.view[1]));
    lines.forEach((line) => line.show([0, end]));
    section.hidden = !lines.length;
    window.timeLines = lines;
  }

  function drawReasons() {
    at("reasons").querySelectorAll("h3, p").forEach((old) => old.remove());
    for (const side of ready())
      at("reasons").append(element("h3", { class: "s" + side.number }, "AB"[side.number]), ...side.made.result.sentences.map((text) => element("p", {}, text)));
  }

  // An edited text stays until the user runs it or moves a slider of its side.
  function drawScenarios() {
    for (const side of sides) {
      if (!side.text) at("scenarios").append(scenarioOf(side));
      const text = side.made ? side.made.scenario : side.scenario;
      if (text && !side.isEdited) side.text.value = text;
    }
  }

  function scenarioOf(side) {
    const name = "AB"[side.number];
    const text = side.text = element("textarea", { spellcheck: "false", "aria-label": `scenario of ${name}` });
    text.readOnly = !source.isLive;
    text.addEventListener("input", () => { side.isEdited = true; });
    const copy = element("button", { type: "button" }, "copy as scenario");
    copy.addEventListener("click", () => copied(text.value, text));
    const run = element("button", { type: "button" }, "run this text");
    run.addEventListener("click", () => {
      side.isEdited = true;  // the text stays, whatever the result
      side.go({ scenario: text.value });
    });
    return element("details", {}, element("summary", {}, `${source.isLive ? "scenario" : "command"} of ${name}`), text,
      element("p", { class: "controls" }, copy, ...(source.isLive ? [run] : [])));
  }

  async function copied(text, field) {
    try {
      await navigator.clipboard.writeText(text);
      at("copied").textContent = "copied";
    } catch {
      if (field) field.select();
      at("copied").textContent = field ? "selected: copy it with Ctrl-C" : "copy it from the browser's address bar";
    }
  }

  function drawResults() {
    drawFacts();
    drawCurves();
    drawLines();
    drawReasons();
    drawScenarios();
  }

  const first = readAddress();
  const sides = first.sides.map((settings, number) => new Side(number, settings, first.hidden));
  at("curves-choice").append(choice("measure", "curve", [["accuracy", "accuracy"], ["loss", "loss"]], measure, (value) => { measure = value; drawCurves(); }));
  at("copy-link").addEventListener("click", () => copied(source.isLive ? location.hash : location.href, null));
  addEventListener("hashchange", () => {
    readAddress().sides.forEach((settings, i) => {
      sides[i].settings = settings;
      sides[i].showSettings();
      sides[i].go({ settings });
    });
  });
  sides.forEach((side) => side.go({ settings: side.settings }));
  window.playground = { sides, ready };
}

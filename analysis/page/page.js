// Code for all pages of psim: data, controls, and keys that move a view.
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

// "workers 0-7" for names like "worker 3", in order; other names one by one.
function namesOf(names) {
  const [role] = names[0].split(" ");
  const numbers = names.map((name) => (name.startsWith(role + " ") ? Number(name.slice(role.length + 1)) : NaN));
  if (names.length < 2 || numbers.some(Number.isNaN)) return names.join(", ");
  const ranges = [];
  for (const n of numbers) {
    if (ranges.length && ranges.at(-1)[1] === n - 1) ranges.at(-1)[1] = n;
    else ranges.push([n, n]);
  }
  return `${role}s ${ranges.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(", ")}`;
}

// Names that a sentence may give to nodes: "Workers 0-2 and 4" are four.
function nodesIn(text) {
  const parts = [...text.matchAll(/\b([a-z]+?)s? (\d+(?:-\d+)?(?:(?:,| and) \d+(?:-\d+)?\b(?! times\b))*)|\bscheduler\b/gi)];
  return parts.flatMap(([, role, list]) => (role ? list.split(/, | and /).flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => `${role.toLowerCase()} ${first + i}`);
  }) : ["scheduler"]));
}

// `label`: for screen readers and in the tooltip, where the text says too little.
function button(text, label, act) {
  const made = element("button", { type: "button", ...(label ? { "aria-label": label, title: label } : {}) }, ...[text].flat());
  made.addEventListener("click", act);
  return made;
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
    const [begin, end] = view(), width = end - begin;
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

// The list of the page's sections, after its header.
const shortNames = { steps: "step by step", lanes: "time line", "no-timeline": "time line", training: "learning", staleness: "staleness", waits: "who held up whom", path: "critical path", workers: "workers", recoveries: "recoveries", traffic: "traffic", made: "how it was made",
  table: "results", curves: "curves", times: "times", waiting: "workers", pareto: "bytes", map: "conditions", "all-runs": "every run" };
{
  const listed = [...document.querySelectorAll("main > section[id]")].filter((one) => shortNames[one.id] && one.querySelector("h2")), header = document.querySelector("main > header");
  if (header && listed.length > 2)
    header.append(element("nav", { class: "sections", "aria-label": "sections" }, ...listed.map((one) => element("a", { href: "#" + one.id }, shortNames[one.id]))));
}

// Scrolls to the target of a link within the page, and gives it the focus.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const goal = link && document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
  if (goal) goal.focus();
});

// The page of a study: curves along the chosen axis, and columns on demand.
"use strict";
if (data.kind === "study") {
  const state = { along: "sim_time_s", shows: "loss", log: true, hidden: new Set() };
  const hosts = [...document.querySelectorAll(".curves")];
  let graphs = [];

  const current = () => data.curves.find((one) => one.along === state.along && one.shows === state.shows);

  function draw() {
    graphs.forEach((graph) => graph.destroy());
    const set = current();
    document.querySelectorAll(".of-loss").forEach((one) => { one.hidden = state.shows !== "loss"; });
    graphs = hosts.map((host) => {
      const curves = set.conditions[Number(host.dataset.condition)].filter((curve) => !state.hidden.has(curve.series));
      return chart(host, { curves, xName: set.x_name, yName: set.y_name, log: state.log && state.shows === "loss", ...(data.goal && data.goal[state.shows] ? { goal: data.goal[state.shows] } : {}) });
    });
  }

  const pick = (key) => (value) => {
    state[key] = value;
    draw();
  };

  // Buttons that show and hide an arm.
  function arms() {
    const known = new Map(current().conditions.flat().map((curve) => [curve.series, curve.label]));
    return [...known].map(([series, label]) => {
      const made = button([element("b", { class: "letter s" + (series % 8) }, letterOf(series)), " " + label], "", () => {
        const hides = !state.hidden.has(series);
        if (hides && state.hidden.size + 1 === known.size) return;  // one arm always stays
        state.hidden[hides ? "add" : "delete"](series);
        made.setAttribute("aria-pressed", String(!hides));
        draw();
      });
      made.setAttribute("aria-pressed", "true");
      return made;
    });
  }

  function control() {
    const along = new Map(data.curves.map((one) => [one.along, one.x_doc]));
    const shows = new Map(data.curves.map((one) => [one.shows, one.shows]));
    const controls = element("div", { class: "controls" }, choice("along", "along", [...along], state.along, pick("along")));
    if (shows.size > 1) controls.append(choice("shows", "shows", [...shows], state.shows, pick("shows")));
    controls.append(element("fieldset", { class: "of-loss" }, tick("logarithm of the loss", true, pick("log"))), ...arms());
    hosts[0].parentElement.insertBefore(controls, hosts[0].parentElement.querySelector(".curves, h3"));
    controls.after(element("p", { class: "hint" }, "Drag to zoom, double-click to see all; with the keyboard: arrows, +, - and 0."));
  }

  if (hosts.length && data.curves.length) {
    control();
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  // A table that is wider than its place says so.
  const wide = document.querySelector("#table .wide"), scrolls = document.querySelector(".scrolls");
  if (wide && scrolls) {
    const say = () => { scrolls.hidden = wide.scrollWidth <= wide.clientWidth + 1; };
    for (const one of [wide, wide.firstElementChild]) new ResizeObserver(say).observe(one);
  }

  const results = document.getElementById("results");
  if (results && results.querySelector(".more")) {
    results.classList.add("hide-more");
    const all = tick("all columns", false, (on) => results.classList.toggle("hide-more", !on));
    results.parentElement.before(element("div", { class: "controls" }, all));
  }
}

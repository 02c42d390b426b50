// The page of a class that predicts together: its teacher's with the token of the address, its students' with the code.
{
  const at = (id) => document.getElementById(id), kept = sessionStorage;
  const given = new URLSearchParams(location.search).get("token");
  if (given) kept.setItem("psim-teacher", given), history.replaceState(null, "", "/");  // a projector shows the address
  if (!kept.getItem("psim-student")) kept.setItem("psim-student", [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  const token = kept.getItem("psim-teacher");
  let code = location.pathname.slice(1), version = 0, question = 0, stage = "", timer = 0, failed = false;

  // `code`, *emphasis* and **strong** words of a line.
  const inline = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part, i) => (i % 2 === 0 ? part
    : part[0] === "`" ? element("code", {}, part.slice(1, -1)) : element(part[1] === "*" ? "b" : "em", {}, part.replaceAll("*", ""))));
  const paragraphs = (text) => text.trim().split(/\n\s*\n/).map((part) => {
    if (/^ {4}/.test(part)) return element("pre", {}, part);
    if (part.startsWith("- ")) return element("ul", {}, ...part.slice(2).split(/\n- /).map((one) => element("li", {}, ...inline(one))));
    return element("p", {}, ...inline(part));
  });

  async function ask(method, target, body) {
    const response = await fetch(target, { method, body, headers: { "X-Psim-Token": token || `${code}.${kept.getItem("psim-student")}` } });
    if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
    show(await response.json());
  }
  const done = () => { at("said").textContent = ""; };
  const refused = (error) => { at("said").textContent = error.status ? error.message : "psim does not answer; this page tries again"; };

  async function poll() {
    try {
      await ask("GET", `/${token ? "class" : "state"}?${version}`);
      if (failed) done();
      failed = false;
    } catch (error) {
      refused(error);
      failed = true;
      if (error.status === 403) return token ? kept.removeItem("psim-teacher") : enter();
    }
    timer = setTimeout(poll, token ? 1000 : 2000);
  }
  const enter = () => { at("enter").hidden = false; at("class").hidden = true; at("code").focus(); };

  // The form of a student's answer, which stays while the student writes.
  function form(state) {
    at("reply").onsubmit = () => false;
    const send = (text) => ask("POST", `/answer?${state.at}`, text).then(done, refused);
    if (state.choices.length) return at("reply").replaceChildren(choice("answer", "Your prediction", state.choices.map((one) => [one, one]), state.own, send));
    const input = element("input", { maxlength: 100, autocomplete: "off", "aria-labelledby": "asks", "aria-describedby": "form" });
    at("reply").replaceChildren(input, element("button", {}, "send"), element("p", { class: "hint", id: "form" }, state.form));
    at("reply").onsubmit = () => (send(input.value), false);
  }

  function bars(state) {
    const most = Math.max(1, ...state.bars.map((one) => one.count)), part = (count, kind) => element("i", { class: kind, style: `width:${(100 * count) / most}%` });
    at("answers").querySelector("summary").textContent = `${state.answered} answered` + ("were_right" in state && state.answered ? `, ${Math.round((100 * state.were_right) / state.answered)} % of them right, in green` : "");
    at("bars").replaceChildren(element("div", { class: "answers" }, ...state.bars.flatMap((one) => [one.here ? element("span", { class: "here" }, one.label, element("b", { class: "unseen" }, ", with the right answer")) : element("span", {}, one.label),
      element("span", { class: "track", "aria-hidden": "true" }, part(one.right, "yes"), part(one.count - one.right, "")), element("span", {}, String(one.count))])));
  }

  function show(state) {
    if (token) at("present").textContent = `${state.present} present`;
    if (!state.at) return;  // nothing has changed
    if (!version) at("cluster").lastElementChild.replaceChildren(...paragraphs(state.cluster)), at("cluster").open = token;
    version = state.version;
    for (const [id, hides] of [["enter", true], ["class", false], ["join", !token], ["answers", !token], ["acts", !token], ["reply", token || state.stage !== "open"], ["cluster", !state.cluster]]) at(id).hidden = hides;
    at("which").textContent = `${state.lab} - prediction ${state.at} of ${state.of}`;
    at("asks").replaceChildren(...inline(state.asks));
    if (question !== state.at || stage !== state.stage) done();  // what was refused is past
    if (!token && (question !== state.at || state.choices.length)) form(state);
    [question, stage] = [state.at, state.stage];
    at("sent").textContent = token ? state.error : [state.own && `sent, as psim reads it: ${state.own}`, state.stage === "closed" && "the predictions are closed"].filter(Boolean).join(" - ");
    at("told").replaceChildren(...(state.stage !== "shown" ? [] : [element("p", { class: "lead" }, state.waits || `${state.own ? (state.is_right ? "You were right: it" : "You were not right: it") : "It"} is ${state.right}.${state.within}`), ...paragraphs(state.because || "")]));
    if (!token) return history.replaceState(null, "", "/" + code);
    at("toggle").value = state.stage === "open" ? "close" : "open";
    for (const [id, text] of [["address", state.address], ["word", state.code], ["toggle", `${at("toggle").value} the predictions`]]) at(id).textContent = text;
    for (const [id, ends] of [["previous", state.at === 1], ["next", state.at === state.of], ["toggle", state.stage === "shown"], ["reveal", state.stage === "shown"]]) at(id).disabled = ends;
    bars(state);
  }

  at("enter").addEventListener("submit", (event) => { event.preventDefault(); at("enter").hidden = true; clearTimeout(timer); code = at("code").value.trim().toLowerCase(); poll(); });
  for (const one of at("acts").children) one.addEventListener("click", () => ask("POST", "/act", one.value).then(done, refused));
  (token || code ? poll : enter)();
}

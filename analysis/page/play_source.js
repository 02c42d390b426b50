// The source of the playground's results: the server of the page, or the page itself.
"use strict";

// Asks the server. A newer request of the same side ends the older one, and its run with it.
class LiveSource {
  isLive = true;
  token = new URLSearchParams(location.search).get("token") || "";

  // Returns {scenario, result}; `tell` gets messages of the server in between. Throws errors of the server.
  async run(request, tell, signal) {
    const response = await fetch("run", {
      method: "POST", signal, headers: { "Content-Type": "application/json", "X-Psim-Token": this.token }, body: JSON.stringify(request),
    });
    if (!response.ok) throw new Error(response.status === 503 ? "The server is busy. Try again in a moment." : (await response.text()) || (response.status === 413 ? "A scenario has at most 64 kB." : `The server refused (${response.status}).`));
    const made = {};
    for await (const line of linesOf(response.body)) {
      const said = JSON.parse(line);
      if (said.error) throw new Error(said.error);
      Object.assign(made, said);
      tell(said);
    }
    if (!made.result) throw new Error("The run was stopped.");
    return made;
  }
}

async function* linesOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    yield* lines;
  }
}

// Looks up results of the study that is in the page.
class GridSource {
  isLive = false;

  async run(request) {
    const result = data.results[JSON.stringify(data.controls.map((control) => request.settings[control.name]))];
    if (!result) throw new Error("The study has no run with these settings.");
    return { scenario: result.command, result };
  }
}

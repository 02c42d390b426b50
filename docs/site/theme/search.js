// Search where pages are files. A browser starts no worker from file://, so a hidden frame does its work there.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.window = frame.contentWindow;
      this.window.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve) => {
        this.window.document.open();
        this.window.document.write("<script>postMessage = answer</" + "script><script src=\"" + url + "\"></" + "script>");
        this.window.document.close();
        this.window.addEventListener("load", resolve);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.window.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}

// The theme's trimmer takes every letter that is not Latin for punctuation. The separator of mkdocs.yml cuts that off.
function search_every_script() {
  const config = document.getElementById("__config");
  const settings = JSON.parse(config.textContent);
  settings.translations["search.config.pipeline"] = "stopWordFilter";
  config.textContent = JSON.stringify(settings);
}

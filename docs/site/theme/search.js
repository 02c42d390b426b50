// Makes the search work for pages from file://. A browser starts no worker there, so a hidden frame does the work.
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

// Removes the theme's trimmer, which treats letters that are not Latin as punctuation. The separator in mkdocs.yml does
// the trimming.
function search_every_script() {
  const config = document.getElementById("__config");
  const settings = JSON.parse(config.textContent);
  settings.translations["search.config.pipeline"] = "stopWordFilter";
  config.textContent = JSON.stringify(settings);
}

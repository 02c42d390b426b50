// The step-through's events, and what the nodes have and do at a date. All of it comes from recorded events.
"use strict";

// {at, number, node, what, word, peer, shard, clock, version, bytes, staleness, sent}; `sent` is the event that sent the message. A sending also has the date and the index of the event that ends the message's way: `until`, `over`.
const shownEvents = (show) => show.decoded ??= decodedEvents(show);

function decodedEvents(show) {
  const events = [], byNumber = new Map();
  let number = 0, at = 0;
  for (const [more, later, node, what = 0, back = 0, word = 0, peer = 0, shard = 0, clock = 0, version = 0, bytes = 0, staleness = 0] of show.events) {
    number += more;
    at += later;
    const event = { index: events.length, number, at: at / 1e9, node, what: show.words[what], word: show.words[word], peer, shard, clock, version, bytes, staleness };
    event.sent = back ? byNumber.get(number - back) : undefined;
    if (event.what === "sent") event.until = event.over = Infinity;
    if ((event.what === "received" || event.what === "lost") && event.sent)
      Object.assign(event.sent, { until: event.at, over: event.index, isLost: event.what === "lost" });
    byNumber.set(number, event);
    events.push(event);
  }
  return events;
}

const startState = (show, events) => ({
  nodes: show.names.map((name, node) => {
    const fault = events.find((one) => one.what === "fault" && one.peer === node && ["join", "leave", "crash", "restart"].includes(one.word));
    const isAbsent = (node > show.servers && show.here_at_first[node - 1 - show.servers] === false) || (fault !== undefined && fault.word === "join");
    return { name, clock: null, isDown: isAbsent, isAbsent, leaves: false, isFinished: false, suspected: false };
  }),
  shards: new Map(),  // by node and shard: {version, arrived, pulls, role}
  view: null,
});

function shardAt(state, node, shard) {
  const key = `${node}/${shard}`;
  if (!state.shards.has(key)) state.shards.set(key, { node, shard, version: 0, arrived: 0, pulls: new Set(), role: "" });
  return state.shards.get(key);
}

// Brings the state to just after the event.
function apply(state, event) {
  const node = state.nodes[event.node];
  const { sent } = event;
  if (["begun", "resumed", "ended", "cancelled", "paused"].includes(event.what)) {
    node.clock = event.clock;
  } else if (event.what === "finish") {
    node.isFinished = true;
  } else if (event.what === "sent" && event.word === "weights") {
    shardAt(state, event.node, event.shard).pulls.delete(event.peer);
  } else if (event.what === "received" && sent) {
    if (sent.word === "push") ++shardAt(state, event.node, sent.shard).arrived;
    if (sent.word === "pull") shardAt(state, event.node, sent.shard).pulls.add(sent.node);
    const replica = state.shards.get(`${event.node}/${sent.shard}`);
    if (replica && replica.role === "replica") replica.version = Math.max(replica.version, sent.version);
  } else if (["applied", "late", "unused", "duplicate", "refused"].includes(event.what)) {
    const shard = shardAt(state, event.node, event.shard);
    shard.arrived = Math.max(0, shard.arrived - 1);
  } else if (event.what === "model_update") {
    shardAt(state, event.node, event.shard).version = event.version;
  } else if (event.what === "promotion") {
    Object.assign(shardAt(state, event.node, event.shard), { version: event.version, role: "owner", isOld: false });
  } else if (event.what === "place") {
    if (event.word === "owner") state.shards.forEach((one) => { if (one.shard === event.shard && one.role === "owner") one.role = "former"; });
    Object.assign(shardAt(state, event.peer, event.shard), { role: event.word, isOld: false });
  } else if (event.what === "view_change") {
    state.view = event.version;
    state.shards.forEach((one) => { one.isOld = Boolean(one.role); });  // the view's places follow
  } else if (event.what === "suspicion") {
    state.nodes[event.peer].suspected = true;
  } else if (event.what === "fault" && state.nodes[event.peer]) {
    const target = state.nodes[event.peer], begins = event.staleness === 1;
    if (event.word === "crash") target.isDown = begins;
    if (event.word === "leave") target.leaves = begins;
    if (event.word === "restart" || event.word === "join") Object.assign(target, { isDown: false, isAbsent: false, leaves: false });
    if (event.word === "crash" && begins) state.shards.forEach((one) => { if (one.node === event.peer) Object.assign(one, { arrived: 0, pulls: new Set() }); });
    if (!target.isDown) target.suspected = false;
  }
}

const sizeText = (bytes) => (bytes >= 1e6 ? rounded(Number((bytes / 1e6).toPrecision(3))) + " MB" : bytes >= 1e3 ? rounded(Number((bytes / 1e3).toPrecision(3))) + " kB" : bytes + " B");

const faultTexts = { crash: ["crashes", "is back"], leave: ["leaves", "is back"], join: ["joins", "has joined"], restart: ["starts again", "has started again"], slow: ["becomes slow", "has its usual speed again"], "link-down": ["is cut off", "has its links again"], partition: ["is parted from others", "is no longer parted from others"], degrade: ["has slow links", "has its usual links again"], drop: ["loses messages", "loses no messages any more"], duplicate: ["gets messages twice", "gets no message twice any more"], delay: ["has late messages", "has no late messages any more"], reorder: ["has late messages", "has no late messages any more"], corrupt: ["pushes wrong values from now on", "pushes what it computes again"] };

// An event in words.
function eventText(event, show) {
  const name = (node) => show.names[node] || "a node", who = name(event.node), { sent } = event;
  const shard = show.servers > 1 ? ` of shard ${event.shard}` : "";
  const about = (one) => (one.word === "push" ? `, clock ${one.clock}` : one.word === "weights" ? `, version ${one.version}` : one.word === "pull" ? ` for clock ${one.clock}` : "");
  const texts = {
    sent: () => `${who} sends ${event.word} to ${name(event.peer)}${event.bytes ? ", " + sizeText(event.bytes) : ""}${about(event)}`,
    received: () => (sent ? `${who} receives ${sent.word} from ${name(sent.node)}${about(sent)}` : `${who} receives a message`),
    lost: () => (sent ? `${name(sent.node)}'s ${sent.word} to ${name(sent.peer)} ${sent.word.endsWith("s") ? "are" : "is"} lost` : "a message is lost"),
    begun: () => `${who} begins to compute ${event.word === "step" ? "" : `a ${event.word} of `}clock ${event.clock} with version ${event.version}`,
    ended: () => `${who} has computed clock ${event.clock}`,
    cancelled: () => `${who} gives up clock ${event.clock}`,
    wait: () => `${who} stops waiting: the message of ${name(event.peer)} has arrived`,
    finish: () => `${who} has finished`,
    release: () => `${who} answers the pull of ${name(event.peer)} now, because of a ${event.word}`,
    applied: () => `${who} applies the push of ${name(event.peer)}, clock ${event.clock}${event.staleness ? `; it is ${event.staleness} update${event.staleness > 1 ? "s" : ""} old` : ""}`,
    late: () => `${who} drops the push of ${name(event.peer)}: it is too late or too stale`,
    unused: () => `${who} does not use the push of ${name(event.peer)} any more`,
    duplicate: () => `${who} has had this push of ${name(event.peer)} before`,
    refused: () => `${who} refuses the push of ${name(event.peer)}; it is sent again`,
    repetition: () => `${who} sends its ${event.word} to ${name(event.peer)} again`,
    slow_worker: () => `${who} finds ${name(event.peer)} slow`,
    given: () => `${who} gives a task of clock ${event.clock}${event.peer ? ` to ${name(event.peer)}` : ""}`,
    done: () => `${who} learns that a task of clock ${event.clock} is done`,
    model_update: () => `${who} makes version ${event.version}${shard}`,
    promotion: () => `${who} owns shard ${event.shard} from now on`,
    suspicion: () => `${who} suspects that ${name(event.peer)} is down`,
    view_change: () => `${who} announces view ${event.version}`,
    fault: () => (faultTexts[event.word] ? `${name(event.peer)} ${faultTexts[event.word][event.staleness ? 0 : 1]}` : `${event.word} of ${name(event.peer)} ${event.staleness ? "begins" : "ends"}`),
    killed: () => `${who} stops: it has crashed`,
    snapshot: () => `${who} has stored shard ${event.shard}`,
    place: () => `${name(event.peer)} ${{ owner: "owns", replica: "has a copy of", next: "is to own", former: "no longer owns" }[event.word]} shard ${event.shard}`,
  };
  return texts[event.what] ? texts[event.what]() : `${who}: ${event.what.replaceAll("_", " ")}${event.word ? " " + event.word : ""}`;
}

// From the gradient to the weights: the events that one push leads to, each with a word for its chip.
function pathOfPush(events, push) {
  const after = (from, holds) => events.find((one, i) => i > from.index && holds(one)), steps = [[push, "sent"]];
  const add = (text, holds) => {
    const found = holds && after(steps.at(-1)[0], holds);
    if (found) steps.push([found, text]);
    return found;
  };
  const worker = push.node;
  const received = add("arrives", (one) => one.sent === push && one.what === "received");
  if (!received) add("is lost", (one) => one.sent === push);
  const outcome = received && after(received, (one) => one.node === received.node && one.peer === worker && one.shard === push.shard && one.clock === push.clock && ["applied", "late", "unused"].includes(one.what));
  const applied = outcome || (received && events.find((one) => one.at === received.at && one.peer === worker && one.shard === push.shard && one.what === "applied"));
  if (applied) steps.push([applied, applied.what]);
  if (!applied || applied.what !== "applied") return steps;
  add("new version", (one) => one.what === "model_update" && one.node === applied.node && one.shard === push.shard);
  const weights = add("weights leave", (one) => one.what === "sent" && one.word === "weights" && one.node === applied.node && one.peer === worker && one.shard === push.shard);
  if (weights) add("weights arrive", (one) => one.sent === weights);
  add("next clock begins", (one) => one.what === "begun" && one.node === worker);
  return steps;
}

// One frame of a time line.
"use strict";

function drawTimeLine(line) {
  const g = line.canvas.getContext("2d");
  g.setTransform(line.scale, 0, 0, line.scale, 0, 0);
  g.clearRect(0, 0, line.width, line.height);
  const style = {
    ink: colour("ink"), soft: colour("soft"), line: colour("line"), paper: colour("paper"), accent: colour("accent"),
    uses: line.timeline.uses.map((use) => colour(use)), patterns: line.timeline.uses.map((use) => patternOf(g, use)),
    font: "12px system-ui, sans-serif",
  };
  g.font = style.font;
  g.textBaseline = "middle";
  drawAxis(g, line, style);
  g.save();
  g.beginPath();
  g.rect(gutter, 0, line.plotWidth(), line.height);
  g.clip();
  drawRows(g, line, style);
  drawShades(g, line, style);
  if (!line.hidesPath) drawPath(g, line, style);
  drawArrows(g, line, style);
  drawMarks(g, line, style);
  drawChosen(g, line, style);
  if (line.marked !== undefined) {
    g.fillStyle = style.accent;
    g.fillRect(line.xOf(line.marked) - 1, topMargin - 6, 2, line.height);
  }
  g.restore();
}

// Between rows.
function gapOf(line) {
  return line.rowHeight < 16 ? 0.5 : 3;
}

// Hatches in addition to colours: network is striped, waiting is dotted, service is barred, down is crossed.
const patternCache = new Map();
function patternOf(g, use) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const key = use + dark;
  if (patternCache.has(key)) return patternCache.get(key);
  const tile = element("canvas", { width: 8, height: 8 });
  const t = tile.getContext("2d");
  t.fillStyle = colour(use);
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = t.fillStyle = use === "wait" ? colour("soft") : colour("paper");
  t.globalAlpha = 0.55;
  t.lineWidth = 1.6;
  const strokes = { network: [[-2, 6, 6, -2], [2, 10, 10, 2]], service: [[2, 0, 2, 8], [6, 0, 6, 8]], down: [[0, 0, 8, 8], [8, 0, 0, 8]] }[use] || [];
  for (const [a, b, c, d] of strokes) {
    t.beginPath();
    t.moveTo(a, b);
    t.lineTo(c, d);
    t.stroke();
  }
  if (use === "wait") {
    t.fillRect(1, 1, 1.4, 1.4);
    t.fillRect(5, 5, 1.4, 1.4);
  }
  const pattern = g.createPattern(tile, "repeat");
  patternCache.set(key, pattern);
  return pattern;
}

function drawAxis(g, line, style) {
  const all = roundValues(...line.view, 7), digits = Math.max(0, -Math.floor(Math.log10(roundStep(...line.view, 7))));
  g.fillStyle = style.soft;
  g.textAlign = "center";
  for (const at of all) {
    const x = line.xOf(at);
    g.fillText(at.toFixed(Math.min(digits, 9)), x, 10);
    g.fillStyle = style.line;
    g.fillRect(x, 20, 1, line.height);
    g.fillStyle = style.soft;
  }
  g.textAlign = "left";
  g.fillText("simulated s", 0, 10);
  const each = Math.max(1, Math.ceil(13 / line.rowHeight));  // so that names do not overlap
  line.rows.forEach((row, i) => {
    const isLit = line.lit && line.lit.has(row.name);
    [g.font, g.fillStyle] = isLit ? ["700 " + style.font, style.accent] : [style.font, style.ink];
    if (isLit) g.fillRect(gutter - 5, line.yOf(i), 4, line.rowHeight);
    if (i % each === 0) g.fillText(row.name, 0, line.yOf(i) + line.rowHeight / 2);
  });
  g.font = style.font;
}

// The first index from `from` on with a later date. It is usually near, so steps start small and double.
function nextAbove(dates, date, from, count) {
  let step = 1;
  while (from + step < count && dates[from + step] <= date) step *= 2;
  return firstAbove(dates, date, from + (step >> 1), Math.min(count, from + step + 1));
}

// The use that takes most of the pieces from `i` to before `next`.
function mostUsed(row, i, next) {
  let most = 0, share = -1;
  for (let use = 0; use < row.before.length; ++use) {
    const seconds = row.before[use][next] - row.before[use][i];
    if (seconds > share) [most, share] = [use, seconds];
  }
  return most;
}

// "#0072b2" as a pixel of an image.
function pixelOf(hex) {
  const rgb = parseInt(hex.slice(1), 16);
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

// Pieces wider than a hatch are drawn one by one. Narrower pieces become pixels of an image with a line per row,
// because tens of thousands of rectangles take longer than a frame.
function drawRows(g, line, style) {
  const width = Math.ceil(line.plotWidth()), gap = gapOf(line), wide = [];
  if (width < 1 || !line.rows.length) return;
  const image = new ImageData(width, line.rows.length), all = new Uint32Array(image.data.buffer);
  const pixels = style.uses.map(pixelOf);
  line.rows.forEach((row, i) => fillRow(line, row, i, all.subarray(i * width, (i + 1) * width), pixels, wide));
  line.strip = line.strip || element("canvas");
  [line.strip.width, line.strip.height] = [width, line.rows.length];
  line.strip.getContext("2d").putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  line.rows.forEach((row, i) => {
    g.drawImage(line.strip, 0, i, width, 1, gutter, line.yOf(i) + gap, width, line.rowHeight - 2 * gap);
  });
  for (const [row, piece, x, size] of wide) drawPiece(g, line, style, line.rows[row], piece, x, line.yOf(row), size);
}

// Draws one row: narrow pieces into `pixels`; wide pieces go to `wide`.
function fillRow(line, row, number, out, pixels, wide) {
  const [from, until] = line.view, scale = line.plotWidth() / (until - from);
  for (let i = firstAbove(row.end, from, 0, row.count); i < row.count && row.begin[i] < until;) {
    const x = (row.begin[i] - from) * scale, width = (row.end[i] - row.begin[i]) * scale;
    if (width > 3) {
      wide.push([number, i, x + gutter, width]);
      ++i;
      continue;
    }
    if (width >= 1) {
      out.fill(pixels[row.use[i]], Math.max(0, Math.round(x)), Math.round(x + width));
      ++i;
      continue;
    }
    const column = Math.floor(x), next = Math.max(i + 1, nextAbove(row.end, from + (column + 1) / scale, i, row.count));
    if (column >= 0 && column < out.length) out[column] = pixels[mostUsed(row, i, next)];
    i = next;
  }
}

function drawPiece(g, line, style, row, i, x, y, width) {
  const use = row.use[i];
  g.fillStyle = style.patterns[use];
  g.fillRect(x, y + gapOf(line), width, line.rowHeight - 2 * gapOf(line));
  if (width < 42 || line.rowHeight < 16) return;
  const name = line.timeline.uses[use], other = line.nameOf.get(row.other[i]);
  const text = name === "compute" ? `clock ${row.clock[i]}` : name === "wait" && other !== row.name ? `for ${other}` : name;
  const size = g.measureText(text).width;
  const letter = 14, first = Math.max(x, gutter);  // the letter of a mark at the left edge stays visible
  const room = row.marks.some(([date]) => Math.abs(line.xOf(date) - first) < letter) ? letter : 0;
  if (size + room + 8 > width) return;
  const at = first + room + 4;
  g.fillStyle = name === "compute" ? style.uses[use] : style.paper;
  g.globalAlpha = 0.85;
  g.fillRect(at - 2, y + 5, size + 4, line.rowHeight - 10);
  g.globalAlpha = 1;
  g.fillStyle = name === "compute" ? "#ffffff" : style.ink;
  g.fillText(text, at, y + line.rowHeight / 2);
}

function drawShades(g, line, style) {
  for (const shade of line.timeline.shades) {
    const rows = shade.node === null ? line.rows.map((row, i) => i) : [line.rowOf.get(shade.node)];
    const x = line.xOf(shade.begin), width = line.xOf(Math.min(shade.end ?? line.timeline.end, line.timeline.end)) - x;
    for (const row of rows) {
      if (row === undefined) continue;
      g.fillStyle = colour("down");
      g.globalAlpha = 0.12;
      g.fillRect(x, line.yOf(row), width, line.rowHeight);
      g.globalAlpha = 1;
      g.fillRect(x, line.yOf(row), width, 2);
    }
  }
}

function drawMarks(g, line, style) {
  line.rows.forEach((row, i) => row.marks.forEach(([at, , text]) => {
    if (at < line.view[0] || at > line.view[1]) return;
    const x = line.xOf(at), y = line.yOf(i);
    g.fillStyle = style.ink;
    g.fillRect(x - 0.75, y, 1.5, line.rowHeight);
    const size = g.measureText(text[0].toUpperCase()).width;
    g.fillStyle = style.paper;
    g.fillRect(x + 1.5, y + 4, size + 3, line.rowHeight - 8);
    g.fillStyle = style.ink;
    g.fillText(text[0].toUpperCase(), x + 3, y + line.rowHeight / 2);
  }));
}

// The critical path: a line below rows, and from row to row for messages. Pieces follow each other without a gap, so a
// search finds the first visible piece.
function drawPath(g, line, style) {
  const ends = line.pathEnds, reached = new Float64Array(line.rows.length).fill(-1);
  const first = firstAbove(ends, line.view[0], 0, ends.length);
  const last = Math.min(firstAbove(ends, line.view[1], first, ends.length) + 1, ends.length);
  const connects = line.plotWidth() > 3 * (last - first);  // a step is four pieces: below 12 pixels strokes cover it
  g.strokeStyle = g.fillStyle = style.ink;
  g.lineWidth = 2;
  for (let i = first; i < last; ++i) {
    const piece = line.path[i], row = line.rowByName.get(piece.node), to = line.rowByName.get(piece.to);
    if (row === undefined) continue;
    const left = line.xOf(piece.begin_s), right = line.xOf(piece.end_s), y = line.yOf(row) + line.rowHeight - 2;
    if (piece.kind === "network" && to !== undefined && to !== row) {
      if (!connects) continue;
      g.beginPath();
      g.moveTo(left, y);
      g.lineTo(right, line.yOf(to) + line.rowHeight - 2);
      g.stroke();
    } else if (right >= reached[row] + 0.5) {
      g.fillRect(left, y - 1, Math.max(1, right - left), 3);
      reached[row] = Math.max(left + 1, right);
    }
  }
}

// The messages that were on their way between two dates.
function messagesBetween(m, from, until) {
  const found = [];
  for (let i = firstAbove(m.reached, from - 1e-9, 0, m.count); i < m.count && m.sent[i] <= until; ++i)
    if (m.until[i] >= from - 1e-9) found.push(i);
  return found;
}

// At most `most` of all, one from each of as many equal parts. The steps differ, so that no worker is always left out.
function spread(all, most) {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor((i + (i * 0.618034) % 1) * all.length / most)]);
}

// The messages of the chosen piece; with arrows on also those of the window.
function messagesToDraw(line) {
  const m = line.messages, most = 1500, chosen = line.chosen, lane = chosen && line.rows[chosen.row];
  if (!m) return { drawn: [], all: 0 };
  const hasRows = (i) => line.rowOf.has(m.from[i]) && line.rowOf.has(m.to[i]);
  const own = lane && lane.count
    ? messagesBetween(m, lane.begin[chosen.piece], lane.end[chosen.piece]).filter((i) => m.from[i] === lane.node || m.to[i] === lane.node) : [];
  const others = line.arrows ? messagesBetween(m, ...line.view) : [];
  const first = spread(own.filter(hasRows), most), taken = new Set(first);
  const drawn = [...first, ...spread(others.filter((i) => hasRows(i) && !taken.has(i)), most - first.length)];
  return { drawn, all: new Set([...own, ...others]).size };
}

// What the arrows leave out.
function sayArrows(line, { drawn, all }) {
  const m = line.messages, said = [];
  if (m && (line.arrows || line.chosen)) {
    if (drawn.length < all) said.push(`${drawn.length.toLocaleString("en")} of ${all.toLocaleString("en")} messages here are drawn${line.rowOf.size < line.nameOf.size ? ", those between the nodes that are shown" : ""}; zoom in to see the others.`);
    if (drawn.some((i) => m.isLost[i])) said.push("A cross: the message did not arrive.");
    if (m.count < m.all) said.push(`Of the run's ${m.all.toLocaleString("en")} messages this page knows those sent from ${rounded(m.sent[0])} to ${rounded(m.sent[m.count - 1])} s.`);
  }
  if (line.drawnText.textContent !== said.join(" ")) line.drawnText.textContent = said.join(" ");
}

function drawArrows(g, line, style) {
  const found = messagesToDraw(line), m = line.messages;
  sayArrows(line, found);
  g.strokeStyle = g.fillStyle = style.ink;
  g.lineWidth = 1;
  g.globalAlpha = 0.7;
  for (const i of found.drawn) {
    const from = line.rowOf.get(m.from[i]), to = line.rowOf.get(m.to[i]), x = line.xOf(m.sent[i]), y = line.yOf(from) + line.rowHeight / 2;
    const toX = m.isLost[i] ? x + 8 : line.xOf(m.until[i]), toY = m.isLost[i] ? y + Math.sign(to - from) * 0.8 * line.rowHeight : line.yOf(to) + line.rowHeight / 2;
    const angle = Math.atan2(toY - y, toX - x), end = (length, turn) => [toX - length * Math.cos(angle + turn), toY - length * Math.sin(angle + turn)];
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(toX, toY);
    if (m.isLost[i]) {
      for (const turn of [0.8, -0.8]) {
        g.moveTo(...end(4, turn));
        g.lineTo(...end(-4, turn));
      }
    }
    g.stroke();
    if (m.isLost[i]) continue;
    g.beginPath();
    g.moveTo(toX, toY);
    g.lineTo(...end(7, -0.4));
    g.lineTo(...end(7, 0.4));
    g.fill();
  }
  g.globalAlpha = 1;
}

function drawChosen(g, line, style) {
  const place = line.chosen, lane = place && line.rows[place.row];
  if (!lane || !lane.count) return;
  const x = line.xOf(lane.begin[place.piece]), width = line.xOf(lane.end[place.piece]) - x;
  g.strokeStyle = style.accent;
  g.lineWidth = 3;
  g.strokeRect(x - 1, line.yOf(place.row) + 1, Math.max(3, width + 2), line.rowHeight - 2);
}

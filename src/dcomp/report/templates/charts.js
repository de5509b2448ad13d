/** Pictures that several panels draw: colours, axes, lines with bands, bars of shares. */

/* Okabe and Ito's colours, which the colour-blind can tell apart; beyond eight, hatching tells. */
const OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#666666"];
const LINES = ["solid", "dashed", "dotted", "double", "wavy"];
const HATCHES = ["none", "diagonal", "cross"];

/** @param {number} n */
function colour(n) {
  return OKABE_ITO[n % OKABE_ITO.length];
}

/** @param {number} n */
function hatch(n) {
  return HATCHES[Math.floor(n / OKABE_ITO.length) % HATCHES.length];
}

/** Black or white, whichever is read more easily on a colour. @param {[number, number, number]} rgb */
function inkOn(rgb) {
  const [r, g, b] = rgb.map((v) => (v <= 10 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

/**
 * A little picture of how something is filled.
 * @param {number} n
 */
function swatch(n) {
  const canvas = h("canvas", { class: "swatch", width: 32, height: 16, "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  if (pen) {
    pen.fillStyle = filling(pen, n);
    pen.fillRect(0, 0, 32, 16);
  }
  return canvas;
}

/** @param {CanvasRenderingContext2D} pen @param {number} n @returns {string | CanvasPattern} */
function filling(pen, n) {
  const kind = hatch(n);
  if (kind === "none") return colour(n);
  const tile = h("canvas", { width: 6, height: 6 });
  const small = tile.getContext("2d");
  if (!small) return colour(n);
  small.fillStyle = colour(n);
  small.fillRect(0, 0, 6, 6);
  small.strokeStyle = "#000000";
  small.beginPath();
  small.moveTo(0, 6);
  small.lineTo(6, 0);
  if (kind === "cross") {
    small.moveTo(0, 0);
    small.lineTo(6, 6);
  }
  small.stroke();
  return pen.createPattern(tile, "repeat") || colour(n);
}

/**
 * Round numbers between two ends.
 * @param {number} low @param {number} high @param {number} [n]
 */
function ticks(low, high, n = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((v) => v >= rough) || rough;
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

/** How wide a picture is drawn, so that its letters have their size on a phone too. @param {number} most */
function roomFor(most) {
  return Math.max(300, Math.min(most, document.documentElement.clientWidth - 24));
}

/**
 * Lines over a number, with bands of one standard error where they are given.
 * @param {{series: {x: ArrayLike<number>, y: ArrayLike<number>, error?: ArrayLike<number>, name: string, dash?: string, colour?: string}[],
 *   xName: string, yName: string, what: string, from?: number, asPercent?: boolean, dots?: boolean, at?: number | null}} given
 */
function lineChart(given) {
  const width = roomFor(640), height = 260, left = 66, right = 12, top = 10, bottom = 40;
  const all = given.series.flatMap((line) => Array.from(line.y, (v, i) => [v - (line.error ? line.error[i] : 0), v + (line.error ? line.error[i] : 0)]).flat());
  const xs = given.series.flatMap((line) => Array.from(line.x));
  let [low, high] = [given.from ?? minimum(all), maximum(all)];
  if (given.asPercent && high > 0.9) high = Math.max(high, 1);
  if (low === high) [low, high] = [low - 1, high + 1];
  const [first, last] = [minimum(xs), maximum(xs)];
  const X = (/** @type {number} */ v) => left + (last > first ? (v - first) / (last - first) : 0.5) * (width - left - right);
  const Y = (/** @type {number} */ v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom);
  const said = (/** @type {number} */ v) => given.asPercent ? percent(v, high - low < 0.05 ? 1 : 0) : amount(Number(v.toPrecision(6)));
  const axis = s("g", { class: "axis" });
  for (const v of ticks(low, high)) {
    axis.append(s("line", { x1: left, x2: width - right, y1: Y(v), y2: Y(v) }), s("text", { x: left - 6, y: Y(v) + 4, "text-anchor": "end" }, said(v)));
  }
  for (const v of ticks(first, last, 7)) axis.append(s("text", { x: X(v), y: height - bottom + 16, "text-anchor": "middle" }, String(Number(v.toPrecision(6)))));
  axis.append(s("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, given.xName));
  const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": given.what }, axis);
  if (given.at !== null && given.at !== undefined) picture.append(s("line", { x1: X(given.at), x2: X(given.at), y1: top, y2: height - bottom, stroke: "currentColor", "stroke-dasharray": "4 3" }));
  given.series.forEach((line, n) => picture.append(...oneLine(line, n, X, Y, given.dots)));
  return picture;
}

/**
 * @param {{x: ArrayLike<number>, y: ArrayLike<number>, error?: ArrayLike<number>, name: string, dash?: string, colour?: string}} line
 * @param {number} n @param {(v: number) => number} X @param {(v: number) => number} Y @param {boolean} [dots]
 */
function oneLine(line, n, X, Y, dots) {
  const paint = line.colour || colour(n);
  const points = Array.from(line.x, (v, i) => `${X(v).toFixed(1)},${Y(line.y[i]).toFixed(1)}`);
  const out = [];
  if (line.error) {
    const error = line.error;
    const upper = Array.from(line.x, (v, i) => `${X(v).toFixed(1)},${Y(line.y[i] + error[i]).toFixed(1)}`);
    const lower = Array.from(line.x, (v, i) => `${X(v).toFixed(1)},${Y(line.y[i] - error[i]).toFixed(1)}`).reverse();
    out.push(s("polygon", { points: [...upper, ...lower].join(" "), fill: paint, "fill-opacity": 0.2 }));
  }
  out.push(s("polyline", { points: points.join(" "), fill: "none", stroke: paint, "stroke-width": 1.8, "stroke-dasharray": line.dash }));
  if (dots) out.push(...Array.from(line.x, (v, i) => s("circle", { cx: X(v), cy: Y(line.y[i]), r: 3, fill: paint }, s("title", {}, `${line.name} ${v}: ${Number(line.y[i].toPrecision(4))}`))));
  return out;
}

/** @param {ArrayLike<number>} values */
function minimum(values) {
  let found = Infinity;
  for (let i = 0; i < values.length; i += 1) if (values[i] < found) found = values[i];
  return found;
}

/** @param {ArrayLike<number>} values */
function maximum(values) {
  let found = -Infinity;
  for (let i = 0; i < values.length; i += 1) if (values[i] > found) found = values[i];
  return found;
}

/**
 * A table of plain cells.
 * @param {string} caption @param {string[]} heads @param {(string | number | Node)[][]} rows
 */
function plainTable(caption, heads, rows) {
  const numeric = heads.map((_, c) => rows.length > 0 && rows.every((row) => typeof row[c] === "number" || /^[-−+]?[\d.,e–%±− -]+$/.test(String(row[c]))));
  return h("table", {},
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...heads.map((name, c) => h("th", { scope: "col", class: numeric[c] ? "number" : null }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, c) => h("td", { class: numeric[c] ? "number" : null }, cell instanceof Node ? cell : isolated(String(cell))))))));
}

/**
 * Something wide that may be scrolled, also by keyboard.
 * @param {string} name @param {...Node} children
 */
function scrolled(name, ...children) {
  return h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": name }, ...children);
}

/** @param {string} name @param {() => Node} make */
function folded(name, make) {
  const place = h("details", {}, h("summary", {}, name));
  place.addEventListener("toggle", () => {
    if (place.open && place.childElementCount === 1) place.append(scrolled(name, make()));
  });
  return place;
}

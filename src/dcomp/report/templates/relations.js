/** How components lie to each other: on a map, by correlation, in a tree. */

panel("map", (place) => {
  const map = DATA.map;
  const width = roomFor(760), height = Math.max(380, width * 0.68), room = 46;
  const [x0, x1, y0, y1] = [minimum(map.x), maximum(map.x), minimum(map.y), maximum(map.y)];
  const scale = Math.min((width - 2 * room) / Math.max(x1 - x0, 1e-9), (height - 2 * room) / Math.max(y1 - y0, 1e-9));
  const X = (/** @type {number} */ v) => width / 2 + (v - (x0 + x1) / 2) * scale;
  const Y = (/** @type {number} */ v) => height / 2 - (v - (y0 + y1) / 2) * scale;
  const widest = Math.min(44, Math.max(12, 150 / Math.sqrt(K))) * Math.max(0.6, width / 760);
  const radius = (/** @type {number} */ k) => Math.max(3, widest * Math.sqrt(SIZES[k] / Math.max(SIZES[BY_SIZE[0]], 1e-9)));
  const card = h("div", { class: "card", "aria-live": "polite" });
  /** @type {SVGElement[]} */
  const dots = [];
  const choose = (/** @type {number} */ k) => {
    for (const [other, dot] of dots.entries()) dot.classList.toggle("on", other === k);
    card.replaceChildren(h("h3", {}, isolated(label(k))), h("p", {}, `${percent(SIZES[k])} of all ${SAY.tokens}`), firstFeatures(k),
      h("button", { type: "button", onclick: () => openComponent(k) }, `Open this ${SAY.component}`));
  };
  for (let k = 0; k < K; k += 1) {
    dots.push(s("circle", { class: "dot", cx: X(map.x[k]).toFixed(1), cy: Y(map.y[k]).toFixed(1), r: radius(k).toFixed(1), role: "button", tabindex: k === BY_SIZE[0] ? 0 : -1, "data-k": k,
      "aria-label": `${label(k)}: ${inWords(k, 4)}`, onclick: () => choose(k),
      onmousemove: (/** @type {any} */ e) => showTip(`${label(k)}: ${inWords(k, 8)}`, e.clientX, e.clientY), onmouseleave: hideTip,
      onkeydown: (/** @type {any} */ e) => steer(e, k, choose, dots) }));
  }
  const big = BY_SIZE.map((k) => dots[k]);
  const texts = mapLabels(BY_SIZE.slice(0, 80).map((k) => ({ k, x: X(map.x[k]), y: Y(map.y[k]), r: radius(k) })));
  const search = h("input", { type: "search", placeholder: `Name, number or ${SAY.feature}`, "aria-label": `Find ${SAY.components} on the map`, oninput: () => {
    for (const [k, dot] of dots.entries()) dot.classList.toggle("found", search.value.trim() !== "" && isMeant(k, search.value));
  } });
  const compared = map.features < map.of ? ` Compared by the ${amount(map.features)} heaviest of ${amount(map.of)} ${SAY.features}; the others count as one.` : "";
  place.append(h("div", { class: "tools" }, h("label", {}, "Find", search)),
    h("div", { class: "map" }, h("figure", {}, s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Map of ${SAY.components}` }, ...big, ...texts),
      h("figcaption", {}, `${capital(SAY.components)} that share ${SAY.features} lie near each other; the area is the share of ${SAY.tokens}. Classical scaling of Jensen-Shannon distances: the plane keeps ${percent(map.kept, 0)} of what they say, so that places are rough.${compared} Arrow keys go from one to the next.`)),
    card));
  choose(current);
});

/** What a component is best known by: its first features, or of votes what these were about. @param {number} k */
function firstFeatures(k) {
  const rows = topFeatures(k, DATA.lambda, 12);
  if (!rows.some((row) => DATA.about[row.feature])) return h("p", {}, isolated(rows.map((row) => row.name).join(", ")));
  return h("ul", { class: "votes-of small" }, ...rows.slice(0, 6).map((row) => h("li", {}, isolated(row.name), DATA.about[row.feature] ? ": " : "", isolated(DATA.about[row.feature] || ""))));
}

/**
 * Numbers, and words where these say something, as many as have room: the largest first. Beside a dot that is too small to hold them.
 * @param {{k: number, x: number, y: number, r: number}[]} dots
 */
function mapLabels(dots) {
  /** @type {number[][]} */
  const taken = [];
  const free = (/** @type {number[]} */ box) => !taken.some((other) => box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3]);
  const wordy = K <= 40 && (SAY.field === "text" || SAY.field === "counts");
  return dots.flatMap(({ k, x, y, r }) => {
    const word = NAMES[k] || likeOf(k) || (wordy ? topFeatures(k, DATA.lambda, 1).map((row) => row.name).join("") : "");
    const small = r < 9;
    const lines = [String(k), word.slice(0, 18)].filter((text) => text !== "");
    return lines.map((text, n) => {
      const [wide, at] = [text.length * 6.2, y + n * 13 - (small ? 0 : (lines.length - 1) * 6)];
      const left = small ? x + r + 3 : x - wide / 2;
      const box = [left, left + wide, at - 6, at + 6];
      if (!free(box)) return null;
      taken.push(box);
      return s("text", { class: small ? "dot-label beside" : "dot-label", x: (small ? left : x).toFixed(1), y: at.toFixed(1) }, text);
    });
  });
}

/** @param {any} event @param {number} k @param {(k: number) => void} choose @param {SVGElement[]} dots */
function steer(event, k, choose, dots) {
  const at = BY_SIZE.indexOf(k);
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
  if (by !== undefined) {
    const next = BY_SIZE[(at + by + K) % K];
    dots[k].setAttribute("tabindex", "-1");
    dots[next].setAttribute("tabindex", "0");
    dots[next].focus();
    choose(next);
    event.preventDefault();
  } else if (event.key === "Enter" || event.key === " ") {
    choose(k);
    event.preventDefault();
  }
}

/* Blue for together, orange for apart, which the colour-blind can tell; the numbers stand beside. */

/** @param {number} value from −1 to 1 @returns {[number, number, number]} */
function diverging(value) {
  const part = Math.min(1, Math.abs(value)) ** 0.6;
  const end = value >= 0 ? [0, 90, 181] : [220, 90, 0];
  return /** @type {[number, number, number]} */ (end.map((c) => Math.round(247 + (c - 247) * part)));
}

panel("correlations", (place) => {
  const found = DATA.correlation;
  const values = numbers(found.values);
  const orders = /** @type {Record<string, number[]>} */ ({ alike: found.order, size: BY_SIZE, number: Array.from({ length: K }, (_, k) => k) });
  const canvas = h("canvas", { role: "img", "aria-label": `Correlations between ${K} ${SAY.components}; the strongest are in the table` });
  const edge = K <= 60 ? 34 : 0;
  const size = Math.max(1, Math.floor(640 / K));
  let order = orders.alike;
  const draw = () => drawCorrelations(canvas, values, order, size, edge);
  const at = (/** @type {any} */ e) => {
    const box = canvas.getBoundingClientRect();
    const one = box.width / (edge + size * K);
    return [e.clientY - box.top, e.clientX - box.left].map((v) => order[Math.min(K - 1, Math.max(0, Math.floor((v / one - edge) / size)))]);
  };
  canvas.addEventListener("mousemove", (/** @type {any} */ e) => {
    const [a, b] = at(e);
    showTip(`${label(a)} and ${label(b)}: ${signed(values[a * K + b] / 100)}`, e.clientX, e.clientY);
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (/** @type {any} */ e) => openComponent(at(e)[0]));
  const choice = h("select", { onchange: () => { order = orders[choice.value]; draw(); } },
    h("option", { value: "alike" }, "those that go together"), h("option", { value: "size" }, "size"), h("option", { value: "number" }, "number"));
  draw();
  place.append(h("div", { class: "tools" }, h("label", {}, "Order by", choice)),
    h("div", { class: "wide" }, h("figure", {}, canvas, scaleBar(), h("figcaption", {}, `Pearson's correlations over ${SAY.documents} between the expected ${SAY.tokens} of each pair. ${capital(SAY.tokens)} are counted, not shares: both may have more where a ${SAY.document} has more ${SAY.tokens}.`)),
    scrolled("Strongest correlations", pairTable(found))));
});

/**
 * Cells in their colours, with numbers where these can be read.
 * @param {any} canvas @param {any} values @param {number[]} order @param {number} size @param {number} edge
 */
function drawCorrelations(canvas, values, order, size, edge) {
  const fine = 2; // pixels of the picture for one on the screen
  const side = edge + size * K;
  canvas.width = canvas.height = side * fine;
  canvas.style.width = `${side}px`;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(fine, fine);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const text = window.getComputedStyle(document.documentElement).getPropertyValue("--text") || "#000000";
  order.forEach((a, y) => {
    order.forEach((b, x) => {
      const value = values[a * K + b] / 100;
      pen.fillStyle = `rgb(${diverging(value).join(",")})`;
      pen.fillRect(edge + x * size, edge + y * size, size, size);
      if (size < 40) return; // numbers would run into each other
      pen.fillStyle = inkOn(diverging(value));
      pen.font = `${Math.min(14, size / 3)}px system-ui, sans-serif`;
      pen.fillText(signed(value), edge + (x + 0.5) * size, edge + (y + 0.5) * size);
    });
    if (!edge) return;
    pen.fillStyle = text;
    pen.font = `${Math.min(12, Math.max(8, size))}px system-ui, sans-serif`;
    pen.fillText(`#${a}`, edge / 2, edge + (y + 0.5) * size);
    pen.save(); // where cells are narrower than numbers, these stand upright
    pen.translate(edge + (y + 0.5) * size, edge / 2);
    if (size < 26) pen.rotate(-Math.PI / 2);
    pen.fillText(`#${a}`, 0, 0);
    pen.restore();
  });
}

/** What colours mean. */
function scaleBar() {
  const width = 240;
  const parts = Array.from({ length: 21 }, (_, i) => s("rect", { x: (i * width) / 21, y: 0, width: width / 21 + 0.5, height: 12, fill: `rgb(${diverging((i - 10) / 10).join(",")})` }));
  return s("svg", { viewBox: `0 0 ${width} 28`, width, height: 28, role: "img", "aria-label": "Colours from −1 (orange) over 0 (white) to 1 (blue)" }, ...parts,
    s("text", { x: 0, y: 26 }, "−1"), s("text", { x: width / 2, y: 26, "text-anchor": "middle" }, "0"), s("text", { x: width, y: 26, "text-anchor": "end" }, "1"));
}

/** @param {Json} found */
function pairTable(found) {
  const link = (/** @type {number} */ k) => h("button", { type: "button", class: "link", onclick: () => openComponent(k) }, isolated(`${label(k)}: ${inWords(k, 4)}`));
  return plainTable("The strongest, by absolute value", [capital(SAY.component), "with", "Correlation"], found.strongest.map((/** @type {number[]} */ row) => [link(row[0]), link(row[1]), signed(row[2])]));
}

panel("tree", (place) => {
  const nodes = DATA.tree;
  /** @param {number} parent */
  const below = (parent) => nodes.map((/** @type {Json} */ node, /** @type {number} */ n) => ({ node, n })).filter((/** @type {any} */ own) => own.node.parent === parent);
  /** @param {{node: Json, n: number}} own @returns {Node} */
  const item = ({ node, n }) => {
    const children = below(n);
    const words = (children.length ? node.summary : node.own).join(", ");
    const line = h("span", {}, h("b", {}, isolated(node.k >= 0 && NAMES[node.k] ? NAMES[node.k] : node.name)), ` ${percent(children.length ? node.subtree : node.share)} `, h("span", { class: "words" }, isolated(words)));
    const link = node.k >= 0 ? h("button", { type: "button", class: "link small", "aria-label": `Open ${SAY.component} ${node.k}`, onclick: () => openComponent(node.k) }, `#${node.k}`) : null;
    if (!children.length) return h("li", {}, line, " ", link);
    return h("li", {}, h("details", { open: node.level < 2 }, h("summary", {}, line), link, h("ul", {}, ...children.map(item))));
  };
  place.append(h("p", {}, `A node with others below it has its share with theirs, and the ${SAY.features} that stand for all of them; a leaf has its own.`),
    h("div", { class: "tools" }, h("button", { type: "button", class: "quiet", onclick: () => fold(place, true) }, "Open all"), h("button", { type: "button", class: "quiet", onclick: () => fold(place, false) }, "Close all")),
    h("ul", { class: "tree" }, ...below(-1).map(item)));
});

/** @param {HTMLElement} place @param {boolean} open */
function fold(place, open) {
  for (const part of place.querySelectorAll("details")) part.open = open;
}

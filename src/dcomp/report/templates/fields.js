/** Panels of fields: blocs of voters, bars of shares, profiles of mutational signatures. */

panel("blocs", (place) => {
  const found = DATA.blocs;
  const names = found.columns;
  const choice = h("select", { onchange: () => fill() }, ...found.pairs.map((/** @type {Json} */ pair, /** @type {number} */ n) => h("option", { value: n }, `${label(pair.blocs[0])} and ${label(pair.blocs[1])}`)));
  const votes = h("div", {});
  const fill = () => {
    const pair = found.pairs[Number(choice.value)];
    if (pair) votes.replaceChildren(scrolled("Dividing votes", divisionTable(pair)));
  };
  const search = h("input", { type: "search", placeholder: "Name or party", "aria-label": "Find a voter", oninput: () => {
    const wanted = search.value.trim().toLowerCase();
    for (const row of place.querySelectorAll("tbody tr[data-name]")) row.toggleAttribute("hidden", !(/** @type {HTMLElement} */ (row).dataset.name || "").includes(wanted));
  } });
  place.append(...found.lines.map((/** @type {string} */ line) => h("p", {}, line)));
  if (found.pairs.length) {
    place.append(h("h3", {}, "Votes that divide neighbouring blocs"), h("div", { class: "tools" }, h("label", {}, "Blocs", choice)), votes);
    fill();
  } else place.append(h("p", {}, "There is a single bloc with members: nothing divides it."));
  place.append(h("h3", {}, "Who is of which bloc"), h("div", { class: "tools" }, search),
    scrolled("Memberships", memberGrid(found.voters, names)),
    h("p", { class: "small" }, `Voters from one end to the other of the line that tells most of their votes apart (binary PCA); the more a cell stands out, the larger the share.${found.voters.low ? " Beside it the largest share with its interval." : ""}${found.voters.of > found.voters.names.length ? ` ${amount(found.voters.names.length)} of ${amount(found.voters.of)}, spread evenly.` : ""}`));
});

/** @param {Json} pair */
function divisionTable(pair) {
  const [a, b] = pair.blocs;
  const rows = pair.votes.map((/** @type {Json} */ v) => [v.call, v.title, percent(v.yea[0], 0), percent(v.yea[1], 0), v.error === undefined ? signed(100 * v.effect, 0) : `${signed(100 * v.effect, 0)} ± ${(100 * v.error).toFixed(0)}`]);
  return plainTable(`How many of ${label(a)} and of ${label(b)} say yea, and the difference in points, first less second${pair.votes.length && pair.votes[0].error !== undefined ? " ± its standard error" : ""}; the surest first.`,
    ["Vote", "About", `Yea in ${label(a)}`, `Yea in ${label(b)}`, "Difference"], rows);
}

/** @param {Json} voters @param {number[]} columns */
function memberGrid(voters, columns) {
  const shares = numbers(voters.shares);
  const low = voters.low && numbers(voters.low), high = voters.high && numbers(voters.high);
  const rows = voters.names.map((/** @type {string} */ name, /** @type {number} */ i) => {
    const own = columns.map((k) => shares[i * K + k]);
    const best = columns[own.indexOf(Math.max(...own))];
    const cells = columns.map((k) => {
      const value = shares[i * K + k];
      const cell = h("td", { class: `cell${value > 0.44 ? " half" : ""}${value > 0.6 ? " most" : ""}`, title: `${name}: ${label(k)} ${percent(value, 0)}` }, value >= 0.005 ? (100 * value).toFixed(0) : "");
      cell.style.setProperty("--share", value.toFixed(3));
      return cell;
    });
    const end = low ? `#${best} ${percent(shares[i * K + best], 0)} (${(100 * low[i * K + best]).toFixed(0)} to ${(100 * high[i * K + best]).toFixed(0)})` : "";
    const party = voters.party ? voters.party[i] : "";
    return h("tr", { "data-name": `${name} ${party}`.toLowerCase() }, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => openDocument(voters.number[i]) }, isolated(name))), voters.party ? h("td", {}, isolated(party)) : null, ...cells, low ? h("td", {}, end) : null);
  });
  return h("table", { class: "grid" }, h("caption", {}, "Shares of blocs in percent"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Voter"), voters.party ? h("th", { scope: "col" }, "Party") : null, ...columns.map((k) => h("th", { scope: "col" }, isolated(label(k)))), low ? h("th", { scope: "col" }, "Largest") : null)), h("tbody", {}, ...rows));
}

panel("bars", (place) => {
  const found = DATA.bars;
  const shares = numbers(found.shares);
  const canvas = h("canvas", { role: "img", "aria-label": `Shares of ${SAY.components} in ${found.names.length} ${SAY.documents}, a bar each; means by group are in the table` });
  const groups = h("div", {});
  let by = found.groups.length ? 0 : -1;
  /** @type {number[]} */
  let order = [];
  const fill = () => {
    order = barOrder(shares, by < 0 ? null : found.groups[by].of, found.names.length);
    drawBars(canvas, shares, order, by < 0 ? null : found.groups[by].of);
    groups.replaceChildren(...(by < 0 ? [] : [groupTable(found.groups[by])]));
  };
  const choice = h("select", { onchange: () => { by = Number(choice.value); fill(); } }, ...found.groups.map((/** @type {Json} */ g, /** @type {number} */ n) => h("option", { value: n }, g.name)), h("option", { value: -1 }, "nothing"));
  const at = (/** @type {any} */ e) => {
    const box = canvas.getBoundingClientRect();
    const part = ((e.clientX - box.left) / box.width) * (1 + barsMargin / barsWide);
    return order[Math.min(order.length - 1, Math.max(0, Math.floor(part * order.length)))];
  };
  canvas.addEventListener("mousemove", (/** @type {any} */ e) => showTip(barText(found, shares, at(e)), e.clientX, e.clientY));
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (/** @type {any} */ e) => openDocument(found.number[at(e)]));
  place.append(h("div", { class: "tools" }, h("label", {}, "Group by", choice)),
    h("ul", { class: "legend" }, ...Array.from({ length: K }, (_, k) => h("li", {}, swatch(k), h("button", { type: "button", class: "link", onclick: () => openComponent(k) }, isolated(label(k))), ` ${likeOf(k)} ${percent(SIZES[k], 0)}`.replace("  ", " ")))),
    h("figure", {}, canvas, h("figcaption", {}, `One bar per ${SAY.document}, within each group by its largest ${SAY.component}. ${found.of > found.names.length ? `${amount(found.names.length)} of ${amount(found.of)} are shown, spread evenly; means are over all. ` : ""}Point at a bar to read it, click to open it.`)), groups);
  fill();
});

/**
 * By group; within one those of its commonest main component first, from pure to mixed, then the others from mixed to pure, so that
 * what is mixed of two stands between them.
 * @param {any} shares @param {string[] | null} of @param {number} n
 */
function barOrder(shares, of, n) {
  const group = (/** @type {number} */ i) => (of ? of[i] : "");
  /** @type {Map<string, number[]>} */
  const often = new Map();
  const main = Array.from({ length: n }, (_, i) => {
    let best = 0;
    for (let k = 1; k < K; k += 1) if (shares[i * K + k] > shares[i * K + best]) best = k;
    if (!often.has(group(i))) often.set(group(i), new Array(K).fill(0));
    /** @type {number[]} */ (often.get(group(i)))[best] += 1;
    return best;
  });
  /** @type {Map<string, number[]>} the place of each component in a group */
  const place = new Map();
  for (const [name, counts] of often) {
    const order = counts.map((_, k) => k).sort((a, b) => counts[b] - counts[a] || a - b);
    place.set(name, order.map((_, k) => order.indexOf(k)));
  }
  const placeOf = (/** @type {number} */ i) => /** @type {number[]} */ (place.get(group(i)))[main[i]];
  const share = (/** @type {number} */ i) => shares[i * K + main[i]] * (placeOf(i) ? 1 : -1);
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => (group(a) !== group(b) ? (group(a) < group(b) ? -1 : 1) : placeOf(a) - placeOf(b) || share(a) - share(b) || a - b));
}

let barsWide = 1150; // without the margin
let barsMargin = 0; // for the name of the last group, where names are turned

/** The groups that stand beside each other, from bar to bar. @param {string[]} of @param {number[]} order */
function runsOf(of, order) {
  const runs = [];
  for (let n = 0; n < order.length;) {
    let end = n;
    while (end < order.length && of[order[end]] === of[order[n]]) end += 1;
    runs.push({ name: of[order[n]].length > 15 ? `${of[order[n]].slice(0, 14)}…` : of[order[n]], from: n, to: end });
    n = end;
  }
  return runs;
}

/** @param {any} canvas @param {any} shares @param {number[]} order @param {string[] | null} of */
function drawBars(canvas, shares, order, of) {
  const runs = of ? runsOf(of, order) : [];
  const letter = 7.6; // pixels of one, about
  const all = roomFor(1150);
  const turned = runs.some((run) => run.name.length * letter > ((run.to - run.from) / order.length) * all);
  const longest = maximum([0, ...runs.map((run) => run.name.length)]) * letter;
  barsMargin = turned ? Math.min(80, Math.ceil(longest * 0.71)) : 0;
  barsWide = all - barsMargin;
  const fine = 2, width = barsWide, height = 300, foot = !of ? 2 : turned ? Math.ceil(longest * 0.71) + 24 : 28;
  canvas.width = (width + barsMargin) * fine;
  canvas.height = (height + foot) * fine;
  canvas.style.width = `${width + barsMargin}px`;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(fine, fine);
  const style = window.getComputedStyle(document.documentElement);
  const fills = Array.from({ length: K }, (_, k) => filling(pen, k));
  const step = width / order.length;
  order.forEach((i, n) => {
    let y = 0;
    // On whole pixels of the picture, for else the background shines through between bars.
    const left = Math.round(n * step * fine) / fine, right = Math.max(Math.round((n + 1) * step * fine) / fine, left + 1 / fine);
    for (let k = 0; k < K; k += 1) {
      const tall = shares[i * K + k] * height;
      pen.fillStyle = fills[k];
      pen.fillRect(left, y, right - left - (step > 8 ? 1 : 0), tall + 0.2);
      y += tall;
    }
  });
  if (!of) return;
  pen.clearRect(0, height, width + barsMargin, foot);
  pen.fillStyle = pen.strokeStyle = style.getPropertyValue("--text") || "#000000";
  pen.font = "14px system-ui, sans-serif";
  pen.textAlign = turned ? "left" : "center";
  let free = -100;
  for (const { name, from, to } of runs) {
    pen.fillRect(from * step - (from ? 1 : 0), 0, from ? 2 : 0, height + 6);
    const middle = ((from + to) / 2) * step;
    if (turned && middle - free < 15) continue;
    free = middle;
    pen.save();
    pen.translate(middle, height + (turned ? 14 : 18));
    if (turned) pen.rotate(Math.PI / 4);
    pen.fillText(name, 0, 4);
    pen.restore();
  }
}

/** @param {Json} found @param {any} shares @param {number} i */
function barText(found, shares, i) {
  const main = Array.from({ length: K }, (_, k) => k).sort((a, b) => shares[i * K + b] - shares[i * K + a]).slice(0, 3).filter((k, n) => !n || shares[i * K + k] >= 0.01);
  const low = found.low && numbers(found.low), high = found.high && numbers(found.high);
  const parts = main.map((k) => `${label(k)} ${percent(shares[i * K + k], 0)}${low ? ` (${(100 * low[i * K + k]).toFixed(0)} to ${(100 * high[i * K + k]).toFixed(0)})` : ""}`);
  return `${found.names[i]}: ${parts.join(", ")}; ${amount(Math.round(found.length[i]))} ${SAY.tokens}`;
}

/** @param {Json} group */
function groupTable(group) {
  const mean = numbers(group.mean);
  const rows = group.names.map((/** @type {string} */ name, /** @type {number} */ g) => [name, amount(group.sizes[g]), ...Array.from({ length: K }, (_, k) => percent(mean[g * K + k], 0))]);
  return scrolled("Means by group", plainTable(`Mean shares by ${group.name}`, [group.name, SAY.documents, ...Array.from({ length: K }, (_, k) => label(k))], rows));
}

panel("profiles", (place) => {
  const found = DATA.profiles;
  const theta = numbers(found.theta);
  const changes = [...new Set(found.change)];
  place.append(h("p", {}, "Each signature as the probabilities of its mutation types, by substitution."),
    h("div", { class: "profile-grid" }, ...BY_SIZE.map((k) => profile(k, found, theta, /** @type {string[]} */ (changes)))));
});

/** @param {number} k @param {Json} found @param {any} theta @param {string[]} changes */
function profile(k, found, theta, changes) {
  const J = found.types.length, width = 576, height = 150, bottom = 24;
  const own = Array.from({ length: J }, (_, j) => theta[k * J + j]);
  const most = Math.max(...own, 1e-9), step = width / J;
  const bars = own.map((v, j) => s("rect", { x: (j * step + 0.5).toFixed(1), y: (height - bottom - (v / most) * (height - bottom - 18)).toFixed(1), width: Math.max(step - 1, 0.5).toFixed(1), height: ((v / most) * (height - bottom - 18)).toFixed(1), fill: colour(changes.indexOf(found.change[j])) }, s("title", {}, `${found.types[j]} ${percent(v)}`)));
  const heads = changes.map((change) => {
    const first = found.change.indexOf(change), n = found.change.filter((/** @type {string} */ c) => c === change).length;
    return s("text", { x: (first + n / 2) * step, y: height - 8, "text-anchor": "middle" }, change);
  });
  const best = own.map((v, j) => ({ v, j })).sort((a, b) => b.v - a.v).slice(0, 3).map(({ v, j }) => `${found.types[j]} ${percent(v, 0)}`).join(", ");
  const known = found.published[k];
  return h("figure", {}, h("h3", {}, h("button", { type: "button", class: "link", onclick: () => openComponent(k) }, isolated(label(k))), ` ${percent(SIZES[k])}`, known ? ` – most like ${known[0]} (cosine ${known[1].toFixed(2)})` : ""),
    s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Profile of ${label(k)}: ${best}` }, s("text", { x: 0, y: 12 }, `highest ${percent(most, 0)}`), ...bars, ...heads), h("figcaption", {}, best));
}

/** The browser of components: a list on the left, one of them in full on the right. */

let current = BY_SIZE[0];
let lambda = DATA.lambda;
/** @type {number | null} */
let ownBlock = null;
let sought = "";

/** @param {number} k */
function openComponent(k) {
  current = k;
  const found = panels.get("components");
  if (found) found.stale = true;
  go("components", String(k));
}

panel("components", (place) => {
  const list = h("ul", { class: "list", id: "component-list" });
  const detail = h("div", { id: "component-detail", "aria-live": "polite" });
  const count = h("p", { class: "small", role: "status" });
  const fill = () => {
    const shown = BY_SIZE.filter((k) => isMeant(k, sought));
    list.replaceChildren(...shown.map((k) => h("li", {}, listed(k, list, detail))));
    count.textContent = sought ? `${shown.length} of ${K}` : `${K} ${SAY.components}, the largest first`;
  };
  const search = h("input", { type: "search", placeholder: `Name, number or ${SAY.feature}`, "aria-label": `Search ${SAY.components}`, value: sought, oninput: (/** @type {any} */ e) => { sought = e.target.value; fill(); } });
  fill();
  place.append(h("div", { class: "split" }, h("div", { class: "side" }, search, count, list, nameTools()), detail));
  showComponent(detail);
});

/** @param {number} k @param {HTMLElement} list @param {HTMLElement} detail */
function listed(k, list, detail) {
  return h("button", { type: "button", "data-k": k, "aria-current": k === current ? "true" : null, onclick: () => {
    current = k;
    for (const other of list.querySelectorAll("button")) other.toggleAttribute("aria-current", false);
    list.querySelector(`[data-k="${k}"]`)?.setAttribute("aria-current", "true");
    setPlace("components", String(k));
    showComponent(detail);
    if (window.innerWidth <= 760) detail.scrollIntoView();
  } },
  h("span", { class: "line" }, isolated(label(k)), h("span", {}, percent(SIZES[k]))),
  h("span", { class: "words" }, isolated(inWords(k))),
  meter(SIZES[k] / Math.max(SIZES[BY_SIZE[0]], 1e-9)));
}

/** @param {number} part */
function meter(part) {
  const fill = h("span", {});
  fill.style.width = `${100 * part}%`;
  return h("span", { class: "meter", "aria-hidden": "true" }, fill);
}

/** Names are written to a file, and read from one. */
function nameTools() {
  const said = h("span", { class: "small", role: "status" });
  const file = h("input", { type: "file", accept: ".json,application/json", class: "sr", tabindex: -1, "aria-label": "File of names", onchange: async () => {
    try {
      const record = JSON.parse(await file.files[0].text());
      const taken = takeNames(record.names);
      keepNames();
      refresh("components");
      said.textContent = `${taken} names taken.`;
      document.querySelector("#component-names-said")?.replaceChildren(said.textContent);
    } catch {
      said.textContent = "This is no file of names.";
    }
    file.value = "";
  } });
  said.id = "component-names-said";
  return h("div", { class: "tools no-print" },
    h("button", { type: "button", class: "quiet", onclick: saveNames }, "Save names"),
    h("button", { type: "button", class: "quiet", onclick: () => file.click() }, "Load names"), file, said);
}

function saveNames() {
  const names = Object.fromEntries(NAMES.map((name, k) => [String(k), name]).filter(([, name]) => name));
  const text = JSON.stringify({ dcomp: "names of components", fit: DATA.id, names }, null, 2);
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "names.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @param {HTMLElement} detail */
function showComponent(detail) {
  const k = current;
  const name = h("input", { type: "text", value: NAMES[k], maxlength: 60, placeholder: "give it a name", "aria-label": `Name of ${SAY.component} ${k}`, onchange: () => {
    rename(k, name.value);
    const row = document.querySelector(`#component-list [data-k="${k}"] .line bdi`);
    if (row) row.textContent = label(k);
    const own = panels.get("components");
    if (own) own.stale = false;
  } });
  const at = BY_SIZE.indexOf(k);
  const step = (/** @type {number} */ by) => openComponent(BY_SIZE[(at + by + K) % K]);
  detail.replaceChildren(
    h("div", { class: "tools whose" },
      h("h3", {}, `${capital(SAY.component)} #${k}`), name,
      h("span", {}, `${percent(SIZES[k])} of all ${SAY.tokens}`), h("span", { class: "small" }, isolated(likeOf(k))),
      h("span", { class: "no-print" },
        h("button", { type: "button", class: "quiet", "aria-label": `Previous ${SAY.component}`, onclick: () => step(-1) }, "←"), " ",
        h("button", { type: "button", class: "quiet", "aria-label": `Next ${SAY.component}`, onclick: () => step(1) }, "→"))),
    featureBlock(k), ...groupBlocks(k), ...trendBlocks(k), typicalBlock(k));
}

/** @param {number} k */
function featureBlock(k) {
  const place = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Top ${SAY.features}` });
  const said = h("output", {}, lambda.toFixed(1));
  const fill = () => place.replaceChildren(featureTable(k));
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.1, value: lambda, id: "lambda", oninput: () => {
    lambda = Number(slider.value);
    said.textContent = lambda.toFixed(1);
    fill();
  } });
  const tools = h("div", { class: "tools" }, h("label", {}, "λ", slider, said), h("span", { class: "small" }, "1: the most probable; 0: those that are rare elsewhere; between: both (relevance)"));
  if (TOP.blocks.length) {
    const choice = h("select", { onchange: () => { ownBlock = choice.value === "" ? null : Number(choice.value); fill(); } },
      h("option", { value: "" }, "all"), ...TOP.blocks.map((/** @type {string} */ b, /** @type {number} */ g) => h("option", { value: g, selected: ownBlock === g }, b)));
    tools.append(h("label", {}, "Block", choice));
  }
  fill();
  return h("div", { class: "block" }, h("h4", {}, `Top ${SAY.features}`), tools, place);
}

/** @param {number} k */
function featureTable(k) {
  const rows = topFeatures(k, lambda, Math.min(20, TOP.shown), ownBlock);
  const most = Math.max(...rows.map((r) => Math.max(r.theta, r.theta / r.lift)), 1e-12);
  return h("table", {},
    h("caption", {}, `Bars: probability in this ${SAY.component}; dotted line: in all together. Lift: how many times as probable here.`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, capital(SAY.feature)), h("td", {}), h("th", { scope: "col", class: "number" }, "Probability"), h("th", { scope: "col", class: "number" }, "Lift"))),
    h("tbody", {}, ...rows.map((row) => {
      const fill = h("span", { class: "fill", "aria-hidden": "true" });
      fill.style.width = `${(100 * row.theta) / most}%`;
      const all = h("span", { class: "all", "aria-hidden": "true" });
      all.style.left = `${(100 * row.theta) / row.lift / most}%`;
      const note = DATA.about[row.feature];
      return h("tr", {}, h("th", { scope: "row" }, isolated(row.name), note ? h("span", { class: "cell-note" }, isolated(note)) : null), h("td", { class: "cell-bar" }, fill, all),
        h("td", { class: "number" }, probability(row.theta)), h("td", { class: "number" }, row.lift >= 100 ? row.lift.toFixed(0) : row.lift.toFixed(2)));
    })));
}

/** @param {number} k */
function groupBlocks(k) {
  return DATA.groups.map((/** @type {Json} */ by) => {
    const [mean, error] = [numbers(by.mean), numbers(by.error)];
    const own = by.groups.map((/** @type {string} */ _, /** @type {number} */ g) => mean[g * K + k]);
    const most = Math.max(...own, 0.01);
    const rows = by.groups.flatMap((/** @type {string} */ name, /** @type {number} */ g) => {
      const fill = h("span", {});
      fill.style.width = `${(100 * own[g]) / most}%`;
      return [h("div", { title: `${amount(by.sizes[g])} ${SAY.documents}` }, isolated(name), h("span", { class: "small" }, ` (${amount(by.sizes[g])})`)),
        h("div", { class: "track", "aria-hidden": "true" }, fill), h("div", { class: "value" }, `${percent(own[g])}${by.sizes[g] > 1 ? ` ± ${(100 * error[g * K + k]).toFixed(1)}` : ""}`)];
    });
    return h("figure", { class: "block" }, h("h4", {}, "Share by ", isolated(by.name)), h("div", { class: "grouped" }, ...rows),
      h("figcaption", {}, `Mean share of the ${SAY.documents} of each group (how many), ± one standard error over ${SAY.documents}.`));
  });
}

/** @param {number} k */
function trendBlocks(k) {
  return DATA.trends.map((/** @type {Json} */ by) => {
    const [mean, error] = [numbers(by.mean), numbers(by.error)];
    const y = by.at.map((/** @type {number} */ _, /** @type {number} */ t) => mean[t * K + k]);
    const e = by.at.map((/** @type {number} */ _, /** @type {number} */ t) => error[t * K + k]);
    const picture = lineChart({ series: [{ x: by.at, y, error: e, name: label(k), colour: "var(--accent)" }], xName: by.name, yName: "share", from: 0, asPercent: true, dots: true,
      what: `Mean share of ${label(k)} along ${by.name}, from ${percent(minimum(y))} to ${percent(maximum(y))}` });
    const caption = by.width ? `Means over intervals of ${Number(by.width.toPrecision(3))}` : "Means over each value";
    return h("figure", { class: "block" }, h("h4", {}, "Share along ", isolated(by.name)), picture,
      h("figcaption", {}, `${caption}; the band is one standard error over ${SAY.documents}; there is none where there is a single one.${by.missing ? ` ${amount(by.missing)} ${SAY.documents} have no value.` : ""}`),
      folded("Numbers", () => plainTable(`Share of ${label(k)}`, [by.name, SAY.documents, "share", "± error"], by.at.map((/** @type {number} */ x, /** @type {number} */ t) => [String(Number(x.toPrecision(6))), by.sizes[t], percent(y[t]), percent(e[t])]))));
  });
}

/** @param {number} k */
function typicalBlock(k) {
  const found = DATA.typical[k];
  const items = found.number.map((/** @type {number} */ i, /** @type {number} */ n) => h("li", {},
    h("button", { type: "button", class: "link", onclick: () => openDocument(i) }, isolated(documentName(i))), ` ${percent(found.share[n], 0)}`, snippet(i, k)));
  return h("div", { class: "block" }, h("h4", {}, `Most typical ${SAY.documents}`),
    h("p", { class: "small" }, `Those with the largest share of this ${SAY.component}; ${SAY.features} that are most probably of it are marked.${found.number.some((/** @type {number} */ i) => DATA.views[i] && DATA.views[i].order) ? " A dot is one that was left out." : ""}`),
    h("ol", { class: "docs" }, ...items));
}

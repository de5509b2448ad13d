/** The table of documents, of which only the rows in sight exist, and one document to read. */

const DOCS = DATA.documents;
const ROW = 34; // pixels of a row
const AROUND = 8; // rows beyond what is in sight
const MOST_PLACES = 7; // components of a document that have a colour of their own

/** @type {Map<number, number>} */
const rowOf = new Map();
numbers(DOCS.number).forEach((/** @type {number} */ number, /** @type {number} */ row) => rowOf.set(number, row));

/** @param {number} number */
function documentName(number) {
  const row = rowOf.get(number);
  return DOCS.ids && row !== undefined ? DOCS.ids[row] : `${SAY.document} ${number}`;
}

/** The share of a component in a row of the table; 0 where it is not among those that are known.
 * @param {number} row @param {number} k */
function shareIn(row, k) {
  const [component, share] = [numbers(DOCS.component), numbers(DOCS.share)];
  for (let i = row * DOCS.main; i < (row + 1) * DOCS.main; i += 1) if (component[i] === k) return share[i];
  return 0;
}

/** @typedef {{name: string, text: (row: number) => string, value: (row: number) => number | string, number: boolean, width: string, down?: boolean}} Column the first click sorts by value, with `down` the largest number first */

/** @type {number | null} */
let ofComponent = null;

/** @returns {Column[]} */
function documentColumns() {
  const [component, share, length, number] = [DOCS.component, DOCS.share, DOCS.length, DOCS.number].map(numbers);
  const m = DOCS.main;
  /** @type {Column[]} */
  const columns = [
    { name: capital(SAY.document), text: (r) => documentName(number[r]), value: (r) => (DOCS.ids ? DOCS.ids[r].toLowerCase() : number[r]), number: false, width: document.documentElement.clientWidth < 500 ? "9.5rem" : "15rem" },
    { name: capital(SAY.tokens), text: (r) => amount(Number(length[r].toFixed(2))), value: (r) => -length[r], number: true, down: true, width: `${Math.max(6.5, 0.62 * SAY.tokens.length + 1.6)}rem` },
  ];
  if (ofComponent === null) columns.push({ name: `Largest ${SAY.components}`, text: (r) => mainOf(r, 3), value: (r) => component[r * m], number: false, width: "16rem" });
  const k = ofComponent;
  columns.push(k === null
    ? { name: "Largest share", text: (r) => percent(share[r * m], 0), value: (r) => -share[r * m], number: true, down: true, width: "8.5rem" }
    : { name: `Share of ${label(k)}`, text: (r) => percent(shareIn(r, k)), value: (r) => -shareIn(r, k), number: true, down: true, width: "12rem" });
  for (const about of DOCS.attributes) columns.push(attributeColumn(about));
  return columns;
}

/** @param {number} row @param {number} n */
function mainOf(row, n) {
  const [component, share] = [numbers(DOCS.component), numbers(DOCS.share)];
  const out = [];
  for (let i = row * DOCS.main; i < row * DOCS.main + Math.min(n, DOCS.main); i += 1) {
    if (share[i] >= 0.05 || i === row * DOCS.main) out.push(`${label(component[i])} ${percent(share[i], 0)}`);
  }
  return out.join(", ");
}

/** @param {Json} about @returns {Column} */
function attributeColumn(about) {
  if (about.numbers) {
    const values = numbers(about.numbers);
    return { name: about.name, text: (r) => (Number.isNaN(values[r]) ? "" : String(Number(values[r].toPrecision(10)))), value: (r) => (Number.isNaN(values[r]) ? Infinity : values[r]), number: true, width: "7rem" };
  }
  const codes = numbers(about.codes);
  return { name: about.name, text: (r) => about.texts[codes[r]], value: (r) => codes[r], number: false, width: "9rem" };
}

let typed = "";
let sortedBy = -1;
let turned = false;
/** @type {number | null} */
let openNumber = null;

/** Rows that have what was typed in their id or a text that is known of them. @param {string} text */
function rowsWith(text) {
  const wanted = text.trim().toLowerCase();
  const rows = [];
  /** @type {{codes: any, found: boolean[]}[]} */
  const texts = DOCS.attributes.filter((/** @type {Json} */ a) => a.texts).map((/** @type {Json} */ a) => ({ codes: numbers(a.codes), found: a.texts.map((/** @type {string} */ t) => t.toLowerCase().includes(wanted)) }));
  const number = numbers(DOCS.number);
  for (let r = 0; r < DOCS.n; r += 1) {
    const name = DOCS.ids ? DOCS.ids[r].toLowerCase() : `${SAY.document} ${number[r]}`;
    if (!wanted || name.includes(wanted) || texts.some((a) => a.found[a.codes[r]])) rows.push(r);
  }
  return rows;
}

panel("documents", (place) => {
  let columns = documentColumns();
  /** @type {number[]} */
  let rows = [];
  const head = h("thead", {});
  const body = h("tbody", {});
  const table = h("table", { "aria-rowcount": DOCS.n + 1 }, h("caption", { class: "sr" }, `All ${SAY.documents}`), head, body);
  const view = h("div", { class: "window", role: "region", tabindex: 0, "aria-label": `Table of ${SAY.documents}`, onscroll: () => window.requestAnimationFrame(draw) }, table);
  const said = h("span", { class: "small", role: "status" });
  const reader = h("div", { id: "reader" });
  const draw = () => drawRows(view, body, columns, rows, reader);
  const fill = () => {
    columns = documentColumns();
    rows = rowsWith(typed);
    if (ofComponent !== null && sortedBy < 0) sortedBy = 2;
    if (sortedBy >= 0 && sortedBy < columns.length) sortRows(rows, columns[sortedBy]);
    head.replaceChildren(headRow(columns, fill));
    table.style.minWidth = `${columns.reduce((sum, column) => sum + parseFloat(column.width), 0)}rem`;
    said.textContent = `${amount(rows.length)} of ${amount(DOCS.n)} ${SAY.documents}${DOCS.of > DOCS.n ? `, which are spread evenly over all ${amount(DOCS.of)}` : ""}`;
    view.scrollTop = 0;
    draw();
  };
  const search = h("input", { type: "search", placeholder: "Id or what is known of it", "aria-label": `Search ${SAY.documents}`, value: typed, oninput: () => { typed = search.value; fill(); } });
  const choice = h("select", { onchange: () => { ofComponent = choice.value === "" ? null : Number(choice.value); sortedBy = -1; turned = false; fill(); } },
    h("option", { value: "" }, "largest of each"), ...BY_SIZE.map((k) => h("option", { value: k, selected: ofComponent === k }, `${label(k)}: ${inWords(k, 3)}`)));
  choice.style.maxWidth = "20rem";
  place.append(h("div", { class: "tools" }, search, h("label", {}, capital(SAY.component), choice), said), view);
  if (DOCS.main < K) place.append(h("p", { class: "small" }, `The table knows the ${DOCS.main} largest ${SAY.components} of each; a smaller share counts as 0 here.`));
  place.append(reader);
  fill();
  if (openNumber !== null) showDocument(reader, openNumber);
});

/** @param {number[]} rows @param {Column} column */
function sortRows(rows, column) {
  const key = new Map(rows.map((r) => [r, column.value(r)]));
  rows.sort((a, b) => {
    const [x, y] = [/** @type {any} */ (key.get(a)), /** @type {any} */ (key.get(b))];
    return (x < y ? -1 : x > y ? 1 : 0) * (turned ? -1 : 1) || a - b;
  });
}

/** @param {Column[]} columns @param {() => void} fill */
function headRow(columns, fill) {
  return h("tr", { "aria-rowindex": 1 }, ...columns.map((column, c) => {
    const here = c === sortedBy, falls = turned !== Boolean(column.down);
    const cell = h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": here ? (falls ? "descending" : "ascending") : null },
      h("button", { type: "button", onclick: () => { turned = here ? !turned : false; sortedBy = c; fill(); } }, isolated(column.name), here ? (falls ? " ▼" : " ▲") : ""));
    cell.style.width = column.width;
    return cell;
  }));
}

/**
 * The rows in sight, with room above and below for the others.
 * @param {HTMLElement} view @param {HTMLElement} body @param {Column[]} columns @param {number[]} rows @param {HTMLElement} reader
 */
function drawRows(view, body, columns, rows, reader) {
  const first = Math.max(0, Math.floor(view.scrollTop / ROW) - AROUND);
  const last = Math.min(rows.length, first + Math.ceil((view.clientHeight || 500) / ROW) + 2 * AROUND);
  const pad = (/** @type {number} */ n) => {
    const cell = h("td", { class: "pad", colspan: columns.length });
    cell.style.height = `${n * ROW}px`;
    return h("tr", { "aria-hidden": "true" }, cell);
  };
  const number = numbers(DOCS.number);
  const shown = rows.slice(first, last).map((r, i) => h("tr", { class: number[r] === openNumber ? "row on" : "row", "aria-rowindex": first + i + 2 }, ...columns.map((column, c) => {
    const text = column.text(r);
    if (c) return h("td", { class: column.number ? "number" : null, title: text }, isolated(text));
    return h("td", { title: text }, h("button", { type: "button", class: "link", onclick: () => {
      openNumber = number[r];
      setPlace("documents", String(number[r]));
      drawRows(view, body, columns, rows, reader);
      showDocument(reader, number[r]);
      reader.scrollIntoView({ block: "nearest" });
    } }, isolated(text)));
  })));
  body.replaceChildren(...(first ? [pad(first)] : []), ...shown, ...(last < rows.length ? [pad(rows.length - last)] : []));
}

/** @param {number} number */
function openDocument(number) {
  openNumber = number;
  const found = panels.get("documents");
  if (found) found.stale = true;
  go("documents", String(number));
  document.getElementById("reader")?.scrollIntoView({ block: "start" });
}

/** @param {HTMLElement} reader @param {number} number */
function showDocument(reader, number) {
  const row = rowOf.get(number);
  const parts = [];
  const place = new Map();
  if (row !== undefined) {
    const [component, share] = [numbers(DOCS.component), numbers(DOCS.share)];
    for (let i = row * DOCS.main; i < row * DOCS.main + Math.min(MOST_PLACES, DOCS.main); i += 1) {
      if (share[i] < 0.01 && place.size) break;
      place.set(component[i], place.size);
      parts.push([component[i], share[i]]);
    }
  }
  const body = reading(number, place);
  const view = DATA.views[number];
  const kind = !view ? "" : view.text ? "" : view.order ? `${capital(SAY.features)} in their order; a dot is one that was left out.` : `${capital(SAY.features)} and how often each is there.`;
  const show = h("input", { type: "checkbox", checked: true, onchange: () => reader.classList.toggle("hide-numbers", !show.checked) });
  const known = row === undefined ? [] : DOCS.attributes.map((/** @type {Json} */ a) => `${a.name}: ${attributeColumn(a).text(row)}`);
  reader.classList.remove("hide-numbers");
  reader.replaceChildren(h("article", { class: "reading" },
    h("h3", {}, isolated(documentName(number))),
    known.length ? h("p", { class: "small" }, isolated(known.join("; "))) : null,
    h("ul", { class: "legend" }, ...parts.map(([k, value]) => legendItem(k, value, place.get(k)))),
    body ? h("p", { class: "small" }, `Each marked ${SAY.feature} is under the line of the ${SAY.component} that is most probable for it here. ${kind} `, h("label", { class: "no-print" }, show, "numbers")) : h("p", { class: "small" }, DATA.documents.n && Object.keys(DATA.views).length ? `The ${SAY.features} of this one are not in the file: it has those of the typical ones and of a sample.` : `The report was made without the ${SAY.documents} themselves.`),
    body));
}

/** @param {number} k @param {number} value @param {number} n */
function legendItem(k, value, n) {
  const button = h("button", { type: "button", class: "link w", onclick: () => openComponent(k) }, isolated(label(k)));
  button.style.textDecorationColor = colour(n);
  button.style.textDecorationStyle = LINES[n % LINES.length];
  return h("li", {}, button, ` ${percent(value, 0)} `, h("span", { class: "small" }, isolated(inWords(k, 3))));
}

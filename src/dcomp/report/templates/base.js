/**
 * The data of the page, ways to make elements, and what all panels share.
 * Text from data is only ever set as text: nothing here makes markup from a string.
 */

/** @typedef {{u1?: string, i1?: string, u2?: string, u4?: string, f4?: string, f8?: string, share?: string}} Packed */
/** @typedef {Record<string, any>} Json */
/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Attribute */

/** @type {Json} */
const DATA = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "{}");
/** @type {Record<string, string>} */
const SAY = DATA.speech;
const K = DATA.names.length;
const UNIT = 65535;
const SVG = "http://www.w3.org/2000/svg";

/**
 * A packed array as numbers; shares come as fractions of 1.
 * @param {Packed} packed
 * @returns {Float64Array | Float32Array | Uint32Array | Uint16Array | Uint8Array | Int8Array}
 */
function unpack(packed) {
  const [kind, text] = /** @type {[string, string]} */ (Object.entries(packed)[0]);
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  switch (kind) {
    case "u1": return bytes;
    case "i1": return new Int8Array(bytes.buffer);
    case "u2": return new Uint16Array(bytes.buffer);
    case "u4": return new Uint32Array(bytes.buffer);
    case "f4": return new Float32Array(bytes.buffer);
    case "f8": return new Float64Array(bytes.buffer);
    case "share": return Float32Array.from(new Uint16Array(bytes.buffer), (v) => v / UNIT);
    default: throw new Error(`an array of unknown kind: ${kind}`);
  }
}

/** @type {Map<Packed, any>} */
const unpacked = new Map();

/**
 * The same, made once.
 * @param {Packed} packed
 * @returns {any}
 */
function numbers(packed) {
  if (!unpacked.has(packed)) unpacked.set(packed, unpack(packed));
  return unpacked.get(packed);
}

const SIZES = numbers(DATA.sizes);
/** Components, the largest first. */
const BY_SIZE = Array.from({ length: K }, (_, k) => k).sort((a, b) => SIZES[b] - SIZES[a] || a - b);

/**
 * @param {Element} element
 * @param {Record<string, Attribute>} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * An element with attributes (functions are listeners, as onclick) and children.
 * @param {string} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {any}
 */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * The same for pictures.
 * @param {string} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {any}
 */
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  dress(element, attributes);
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * Text of the data, kept apart from the direction of what is around it.
 * @param {string} text
 */
function isolated(text) {
  return h("bdi", {}, text);
}

/** @param {number} value @param {number} [digits] */
function percent(value, digits = 1) {
  return `${(100 * value).toFixed(digits)} %`;
}

/** @param {number} value */
function amount(value) {
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumFractionDigits: 3 });
}

/** @param {number} value */
function probability(value) {
  return value >= 0.001 ? value.toFixed(4) : value.toExponential(1);
}

/** With a minus that is as wide as a plus. @param {number} value @param {number} [digits] */
function signed(value, digits = 2) {
  const text = value.toFixed(digits);
  return text.replace("-", Number(text) ? "−" : "");
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/* What a reader chooses to keep; a browser may refuse, and then it is kept while the page is open. */

/** @param {string} key @returns {string | null} */
function recall(key) {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string | null} value */
function remember(key, value) {
  try {
    if (value === null) window.localStorage.removeItem(key);
    else window.localStorage.setItem(key, value);
  } catch {
    // As long as the page is open it is in memory.
  }
}

/* Names of components: given ones, and those that the reader has written. */

const NAMES_KEY = `dcomp names ${DATA.id}`;
/** @type {string[]} */
const NAMES = DATA.names.slice();

/** @param {any} record @returns {number} how many names were taken */
function takeNames(record) {
  let taken = 0;
  if (record === null || typeof record !== "object") return taken;
  for (const [key, name] of Object.entries(record)) {
    const k = Number(key);
    if (Number.isInteger(k) && k >= 0 && k < K && typeof name === "string") {
      NAMES[k] = name.slice(0, 60);
      taken += 1;
    }
  }
  return taken;
}

try {
  takeNames(JSON.parse(recall(NAMES_KEY) || "null"));
} catch {
  // What another page has written there is not ours.
}

/** @param {number} k @param {string} name */
function rename(k, name) {
  NAMES[k] = name.trim().slice(0, 60);
  keepNames();
}

function keepNames() {
  remember(NAMES_KEY, JSON.stringify(Object.fromEntries(NAMES.map((name, k) => [k, name]))));
  for (const panel of panels.values()) panel.stale = true;
  for (const cell of document.querySelectorAll("td.own-name")) {
    const k = Number(/** @type {HTMLElement} */ (cell).dataset.k);
    cell.replaceChildren(isolated(NAMES[k]));
  }
}

/** The number of a component, and its name. @param {number} k */
function label(k) {
  return NAMES[k] ? `#${k} ${NAMES[k]}` : `#${k}`;
}

/** The published signature that one is like, where that is sure enough to stand for it. @param {number} k */
function likeOf(k) {
  const known = DATA.profiles && DATA.profiles.published[k];
  return known && known[1] >= 0.9 ? `≈ ${known[0]}` : "";
}

/* Panels draw themselves when they are first looked at, and again after names have changed. */

/** @typedef {{draw: (place: HTMLElement) => void, stale: boolean, place: HTMLElement}} Panel */
/** @type {Map<string, Panel>} */
const panels = new Map();

/** @param {string} key @param {(place: HTMLElement) => void} draw */
function panel(key, draw) {
  const section = document.getElementById(`panel-${key}`);
  const place = section && /** @type {HTMLElement | null} */ (section.querySelector(".live, #components-live"));
  if (place) panels.set(key, { draw, stale: true, place });
}

/** @param {string} key */
function refresh(key) {
  const found = panels.get(key);
  if (!found || !found.stale) return;
  found.stale = false;
  found.place.replaceChildren();
  found.draw(found.place);
}

/* A line beside the pointer, for what a picture shows there. */

const tip = /** @type {HTMLElement} */ (document.getElementById("tip"));

/** @param {string} text @param {number} x @param {number} y */
function showTip(text, x, y) {
  tip.textContent = text;
  tip.classList.add("on");
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, window.innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, window.innerHeight - box.height - 8))}px`;
}

function hideTip() {
  tip.classList.remove("on");
}

// The pool as a ring: a segment for each address. Up to a thousand they are drawn, beyond that painted pixel by pixel.
import { get, listen, number } from "./page.js";

const uses = { f: "free", b: "bound", o: "offered", c: "claimed", r: "resting" };
const letters = Object.keys(uses);
const mostDrawn = 1024;

// Pool follows what each address is used for.
export class Pool {
  states = new Uint8Array(0); // letters, as their codes
  ranges = [];
  number = -1;
  offer = 2;
  rest = 0;
  since = []; // when each became what it is, in ms
  #tally = new Map(); // how many there are with each letter
  #waiting = null; // changes that came before the map
  #tell;

  // tell hears of places that changed; null: all.
  constructor(tell) {
    this.#tell = tell;
  }

  async begin() {
    if (this.#waiting) return;
    this.#waiting = [];
    try {
      const map = await get("/v1/pool/map");
      Object.assign(this, { ranges: map.ranges, number: map.number, offer: map.offer, rest: map.rest });
      this.states = Uint8Array.from(map.states, (letter) => letter.charCodeAt(0));
      this.since = new Float64Array(this.states.length);
      this.#tally.clear();
      for (const letter of this.states) this.#count(letter, 1);
      const waiting = this.#waiting;
      this.#waiting = null;
      this.#tell(null);
      for (const change of waiting) this.take(change);
    } catch {
      this.#waiting = null; // the connection is gone, and comes back
    }
  }

  take(change) {
    if (this.#waiting) {
      this.#waiting.push(change);
      return;
    }
    if (change.number <= this.number) return;
    if (change.anew || change.number !== this.number + 1) {
      this.begin();
      return;
    }
    this.number = change.number;
    const at = change.at ?? this.states.keys();
    const changed = [];
    const now = performance.now();
    let i = 0;
    for (const place of at) {
      const letter = change.states.charCodeAt(i++);
      if (this.states[place] === letter) continue;
      this.#count(this.states[place], -1);
      this.#count(letter, 1);
      this.states[place] = letter;
      this.since[place] = now;
      changed.push(place);
    }
    this.#tell(changed);
  }

  // address is that of a place, place that of an address.
  address(place) {
    for (const { first, count } of this.ranges) {
      if (place < count) return plus(first, place);
      place -= count;
    }
    return "";
  }

  place(address) {
    let before = 0;
    for (const { first, count } of this.ranges) {
      const at = value(address) - value(first);
      if (at >= 0 && at < count) return before + at;
      before += count;
    }
    return -1;
  }

  use(place) {
    return uses[String.fromCharCode(this.states[place])] ?? "";
  }

  #count(letter, by) {
    this.#tally.set(letter, (this.#tally.get(letter) ?? 0) + by);
  }

  // counts are how many addresses there are of each use.
  counts() {
    return Object.fromEntries(letters.map((letter) => [uses[letter], this.#tally.get(letter.charCodeAt(0)) ?? 0]));
  }
}

const value = (address) => address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
const plus = (address, n) => {
  const v = value(address) + n;
  return [v >>> 24, (v >>> 16) & 255, (v >>> 8) & 255, v & 255].join(".");
};

// draw draws a pool into an element, and has choose told which address is chosen. It returns how to show another: a Ring.
function draw(element, pool, choose) {
  const count = pool.states.length;
  return count <= mostDrawn ? new Segments(element, pool, choose) : new Pixels(element, pool, choose);
}

const svg = "http://www.w3.org/2000/svg";
const node = (name, attributes) => {
  const made = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// reach is how far a segment reaches out, of what there is: states differ in shape, not in colour alone.
const reach = { free: [0.42, 0.58], bound: [0.3, 0.7], offered: [0, 1], claimed: [0.08, 0.92], resting: [0.3, 0.92] };

class Segments {
  constructor(element, pool, choose) {
    this.pool = pool;
    this.choose = choose;
    this.at = 0;
    const n = Math.max(1, pool.states.length);
    this.n = n;
    this.root = node("svg", { viewBox: "-200 -200 400 400", class: "segments", role: "listbox", tabindex: "0", "aria-label": "Addresses of the pool: the arrow keys go round" });
    this.paths = [];
    for (let i = 0; i < pool.states.length; i++) {
      const path = node("path", { role: "option", id: `segment-${i}`, "aria-selected": "false" });
      this.paths.push(path);
      this.root.append(path);
    }
    this.middle = node("g", { class: "middle", "aria-hidden": "true" });
    this.big = node("text", { y: "-4", class: "big" });
    this.small = node("text", { y: "22", class: "small" });
    this.middle.append(this.big, this.small);
    this.root.append(this.middle);
    this.root.addEventListener("click", (event) => {
      const i = this.paths.indexOf(event.target);
      if (i >= 0) this.select(i, true);
    });
    this.root.addEventListener("pointerover", (event) => this.hint(this.paths.indexOf(event.target)));
    this.root.addEventListener("pointerleave", () => this.hint(-1));
    this.root.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 16, PageUp: -16 }[event.key];
      if (step) this.select((this.at + step + 16 * this.n) % this.n, false);
      else if (event.key === "Home") this.select(0, false);
      else if (event.key === "End") this.select(this.n - 1, false);
      else if (event.key === "Enter" || event.key === " ") this.select(this.at, true);
      else return;
      event.preventDefault();
    });
    this.root.style.setProperty("--offer", `${pool.offer}s`); // for which what is offered fades
    element.replaceChildren(this.root);
    this.show(null);
  }

  shape(i) {
    const [from, to] = reach[this.pool.use(i)] ?? [0.4, 0.6];
    const inner = 118 + 70 * from;
    const outer = 118 + 70 * to;
    const gap = this.n > 200 ? 0.0015 : this.n > 40 ? 0.006 : 0.014;
    const a = (2 * Math.PI * i) / this.n - Math.PI / 2 + gap;
    const b = (2 * Math.PI * (i + 1)) / this.n - Math.PI / 2 - gap;
    const point = (r, angle) => `${(r * Math.cos(angle)).toFixed(2)} ${(r * Math.sin(angle)).toFixed(2)}`;
    const large = b - a > Math.PI ? 1 : 0;
    return `M${point(inner, a)}L${point(outer, a)}A${outer} ${outer} 0 ${large} 1 ${point(outer, b)}L${point(inner, b)}A${inner} ${inner} 0 ${large} 0 ${point(inner, a)}z`;
  }

  show(changed) {
    for (const i of changed ?? this.paths.keys()) {
      const use = this.pool.use(i);
      this.paths[i].setAttribute("class", "use-" + use);
      this.paths[i].setAttribute("d", this.shape(i));
      this.paths[i].setAttribute("aria-label", `${this.pool.address(i)} ${use}`);
    }
    this.hint(-1);
  }

  hint(i) {
    if (i >= 0) {
      this.big.textContent = this.pool.address(i);
      this.small.textContent = this.pool.use(i);
      this.big.setAttribute("class", "big address");
      return;
    }
    const c = this.pool.counts();
    this.big.setAttribute("class", "big");
    this.big.textContent = number(c.claimed + c.offered);
    this.small.textContent = `of ${number(this.pool.states.length)} in use`;
  }

  select(i, chosen) {
    this.paths[this.at]?.setAttribute("aria-selected", "false");
    this.at = i;
    this.paths[i].setAttribute("aria-selected", "true");
    this.root.setAttribute("aria-activedescendant", `segment-${i}`);
    this.hint(i);
    this.choose?.(i, chosen);
  }
}

// Pixels paints a spiral of rings. Which address a pixel is of is found once; then a change is a few octets.
class Pixels {
  constructor(element, pool, choose) {
    this.pool = pool;
    this.choose = choose;
    this.at = 0;
    const size = (this.size = 840);
    this.canvas = document.createElement("canvas");
    Object.assign(this.canvas, { width: size, height: size, tabIndex: 0, className: "pixels" });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `${pool.states.length} addresses of the pool: the arrow keys go from one to the next`);
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(size, size);
    this.words = new Uint32Array(this.image.data.buffer);
    this.map();
    this.colours();
    this.canvas.addEventListener("pointermove", (event) => this.hint(this.under(event)));
    this.canvas.addEventListener("pointerleave", () => this.hint(-1));
    this.canvas.addEventListener("click", (event) => {
      const i = this.under(event);
      if (i >= 0) this.select(i, true);
    });
    this.canvas.addEventListener("keydown", (event) => {
      const n = pool.states.length;
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.round, ArrowUp: -this.round, PageDown: 256, PageUp: -256 }[event.key];
      if (step) this.select((((this.at + step) % n) + n) % n, false);
      else if (event.key === "Enter") this.select(this.at, true);
      else return;
      event.preventDefault();
    });
    this.middle = document.createElement("p");
    this.middle.className = "middle";
    this.big = document.createElement("b");
    this.small = document.createElement("span");
    this.middle.append(this.big, this.small);
    this.spoken = document.createElement("p"); // what the keyboard has chosen
    this.spoken.className = "sr";
    this.spoken.setAttribute("aria-live", "polite");
    element.replaceChildren(this.canvas, this.middle, this.spoken);
    addEventListener("themechange", () => this.repaint());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    this.show(null);
  }

  // map finds the address of each pixel, and the pixels of each address, in rings from without to within.
  map() {
    const { size } = this;
    const n = this.pool.states.length;
    const outer = size / 2 - 2;
    const inner = outer * 0.34;
    const cell = Math.sqrt((Math.PI * (outer * outer - inner * inner)) / n);
    const rings = Math.max(1, Math.round((outer - inner) / cell));
    const width = (outer - inner) / rings;
    const starts = [0];
    let total = 0;
    for (let ring = 0; ring < rings; ring++) total += outer - width * (ring + 0.5);
    let sum = 0;
    for (let ring = 0; ring < rings; ring++) {
      sum += outer - width * (ring + 0.5);
      starts.push(Math.round((n * sum) / total));
    }
    this.round = starts[1];
    this.of = new Int32Array(size * size).fill(-1);
    const counts = new Uint32Array(n + 1);
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        const dx = x - size / 2 + 0.5;
        const dy = y - size / 2 + 0.5;
        const r = Math.hypot(dx, dy);
        if (r >= outer || r <= inner) continue;
        const ring = Math.min(rings - 1, Math.floor((outer - r) / width));
        const turn = (Math.atan2(dx, -dy) / (2 * Math.PI) + 1) % 1;
        const place = starts[ring] + Math.floor(turn * (starts[ring + 1] - starts[ring]));
        if (place >= n) continue;
        this.of[y * size + x] = place;
        counts[place + 1]++;
      }
    }
    for (let i = 0; i < n; i++) counts[i + 1] += counts[i];
    this.first = counts;
    this.pixels = new Uint32Array(counts[n]);
    const next = counts.slice();
    for (let pixel = 0; pixel < this.of.length; pixel++) {
      if (this.of[pixel] >= 0) this.pixels[next[this.of[pixel]]++] = pixel;
    }
  }

  colours() {
    const style = getComputedStyle(this.canvas.isConnected ? this.canvas : document.documentElement);
    const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    this.colour = {};
    for (const [letter, use] of Object.entries(uses)) {
      probe.fillStyle = style.getPropertyValue(`--use-${use}`).trim() || "#888";
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
      this.colour[letter.charCodeAt(0)] = (255 << 24) | (b << 16) | (g << 8) | r;
    }
  }

  repaint() {
    this.colours();
    this.show(null);
  }

  show(changed) {
    const { states } = this.pool;
    for (const place of changed ?? states.keys()) {
      const colour = this.colour[states[place]];
      for (let i = this.first[place]; i < this.first[place + 1]; i++) this.words[this.pixels[i]] = colour;
    }
    if (!this.due) {
      this.due = requestAnimationFrame(() => {
        this.due = 0;
        this.context.putImageData(this.image, 0, 0);
        this.hint(this.hinted ?? -1);
      });
    }
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) * this.size) / box.width);
    const y = Math.floor(((event.clientY - box.top) * this.size) / box.height);
    return x < 0 || y < 0 || x >= this.size || y >= this.size ? -1 : this.of[y * this.size + x];
  }

  hint(i) {
    this.hinted = i;
    const c = this.pool.counts();
    this.big.textContent = i >= 0 ? this.pool.address(i) : number(c.claimed + c.offered);
    this.small.textContent = i >= 0 ? this.pool.use(i) : `of ${number(this.pool.states.length)} in use`;
    this.big.className = i >= 0 ? "address" : "";
  }

  select(i, chosen) {
    this.at = i;
    this.hint(i);
    this.spoken.textContent = `${this.pool.address(i)} ${this.pool.use(i)}`;
    this.choose?.(i, chosen);
  }
}

// follow draws the pool into an element and keeps it true; without one it draws nothing, as on a machine without a pool. more are further topics and their handlers. told hears of each change.
export function follow(element, { choose, topics = [], handlers = {}, told } = {}) {
  let ring = null;
  const pool = new Pool((changed) => {
    if (changed === null && element) ring = draw(element, pool, choose);
    else ring?.show(changed);
    told?.(pool);
  });
  const end = listen(["pool", ...topics], {
    ...handlers,
    begin: () => {
      pool.begin();
      handlers.begin?.();
    },
    pool: (change) => pool.take(change),
  });
  return { pool, end, select: (i) => ring?.select(i, true) };
}

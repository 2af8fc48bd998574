// What all screens share: the API, what happens as it happens, the keyboard, the theme, and how things are written.
import { h, html, render, useEffect, useRef, useState } from "./vendored/preact.js";

export { h, html, render, useEffect, useRef, useState };

const role = document.body.dataset.role;
const roles = ["none", "read", "operate", "admin"];

// may reports whether who looks has a role.
export const may = (wanted) => roles.indexOf(role) >= roles.indexOf(wanted);

// Problem is why the API refused something, with what helps.
class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `status ${status}`);
    this.status = status;
    this.remedy = problem.remedy || "";
    this.errors = problem.errors || []; // of a configuration: file, line and detail
  }
}

async function ask(path, options) {
  const response = await fetch(path, { credentials: "same-origin", ...options });
  const text = await response.text();
  let answer = {};
  try {
    answer = JSON.parse(text);
  } catch {
    answer = { detail: text.slice(0, 200) };
  }
  if (response.status === 401) location.reload(); // which asks who it is
  if (!response.ok) throw new Problem(response.status, answer);
  return answer;
}

// get asks the API; post has it do something, in the generation that is expected to be in force, where one is.
export const get = (path) => ask(path, {});
export const post = (path, body, generation) =>
  ask(path, {
    method: "POST",
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...(generation === undefined ? {} : { "If-Match": `"${generation}"` }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

// query writes parameters, without those that are empty.
export function query(values) {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value != null) q.set(key, value);
  const text = q.toString();
  return text && "?" + text;
}

// here are the parameters of this page; go changes them, so that the address can be sent to somebody.
export const here = () => Object.fromEntries(new URLSearchParams(location.search));
export function go(values) {
  history.replaceState(null, "", location.pathname + query({ ...here(), ...values }));
}

// say tells something in passing, with a thing that may be done about it for ten seconds.
const said = document.getElementById("said");
let saying = 0;
export function say(text, offer, act) {
  const number = ++saying;
  const line = document.createElement("p");
  line.textContent = text;
  if (offer) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = offer;
    button.addEventListener("click", () => {
      said.replaceChildren();
      act();
    });
    line.append(" ", button);
  }
  said.replaceChildren(line);
  setTimeout(() => number === saying && said.replaceChildren(), 10000);
}

// tell says what went wrong.
export const tell = (problem) => say(problem.remedy ? `${problem.message}: ${problem.remedy}` : problem.message);

const lost = document.getElementById("lost");
let since = null;
function connected(yes) {
  if (yes === (since === null)) return;
  since = yes ? null : new Date();
  lost.hidden = yes;
  lost.textContent = yes ? "" : `No connection to the gateway since ${since.toLocaleTimeString()}. It is tried again; the figures are of then.`;
  document.body.classList.toggle("stale", !yes);
}

// why tells why a stream is refused, if it still is.
async function why(path) {
  const end = new AbortController();
  try {
    const response = await fetch(path, { signal: end.signal });
    if (!response.ok) tell(new Problem(response.status, await response.json()));
  } catch {} // there is no connection, which is said elsewhere
  end.abort();
}

// listen has handlers told what happens, by topic, while the page is looked at. handlers.begin is called when nothing before is
// known any more: at first, after a while without a connection, and when too much came. It returns how to end.
export function listen(topics, handlers) {
  let source = null;
  let again = 0;
  let ended = false;
  let refused = false; // and it was told why
  const wanted = [...new Set([...topics, "status"])].sort(); // which comes each second
  const path = "/v1/stream?topics=" + wanted.join(",");
  function open() {
    clearTimeout(again);
    if (ended || document.hidden) return;
    source = new EventSource(path);
    source.onopen = () => {
      refused = false;
      handlers.begin?.();
    };
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED && !refused) { // by an answer, which an EventSource shows nobody
        refused = true;
        why(path);
      }
      close();
      connected(false);
      again = setTimeout(() => {
        fetch("/v1/caller").then((r) => r.status === 401 && location.reload(), () => {});
        open();
      }, 2000);
    };
    for (const topic of wanted) {
      source.addEventListener(topic, (event) => {
        connected(true);
        handlers[topic]?.(JSON.parse(event.data));
      });
    }
    for (const kind of ["reset", "lost"]) source.addEventListener(kind, () => handlers.begin?.());
  }
  function close() {
    source?.close();
    source = null;
  }
  // A page that nobody looks at takes no connection: browsers have six for a host.
  const look = () => (document.hidden ? close() : source || open());
  document.addEventListener("visibilitychange", look);
  open();
  return () => {
    ended = true;
    close();
    clearTimeout(again);
    document.removeEventListener("visibilitychange", look);
  };
}

const group = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

// number writes one; compact where there is little room.
export const number = (n) => group.format(n);
export const compact = (n) => (n < 10000 ? group.format(n) : short.format(n));

// span writes seconds as people say them.
export function span(seconds) {
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// When writes a time of day in the reader's zone, with UTC beneath the pointer.
export function When({ at }) {
  if (!at) return html`<span>–</span>`;
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  return html`<time datetime=${at} title=${time.toISOString()}>${today ? time.toLocaleTimeString() : time.toLocaleString()}</time>`;
}

// Address leads to all that is known of one.
export const Address = ({ of }) => (of ? html`<a class="address" href=${"/sessions" + query({ address: of })}>${of}</a>` : html`<span>–</span>`);

// Button does something, and says what went wrong.
export function Button({ does, children, ...rest }) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      await does();
    } catch (problem) {
      tell(problem);
    }
    setBusy(false);
  };
  return html`<button type="button" disabled=${busy} onClick=${act} ...${rest}>${children}</button>`;
}

// health keeps the first sentence true.
export function health(status) {
  const section = document.getElementById("health");
  if (!section) return;
  const well = status.warnings.length === 0;
  const text = status.health;
  const sentence = document.getElementById("sentence");
  section.className = "health " + (well ? "well" : "bad");
  section.querySelector(".mark").textContent = well ? "✔" : "!";
  if (sentence.textContent !== text) sentence.textContent = text;
  let list = section.querySelector("ul");
  if (status.warnings.length > 1) {
    if (!list) section.append((list = document.createElement("ul")));
    const lines = status.warnings.map((warning) => {
      const line = document.createElement("li");
      line.textContent = warning;
      return line;
    });
    if (list.textContent !== lines.map((l) => l.textContent).join("")) list.replaceChildren(...lines);
  } else list?.remove();
}

const theme = document.getElementById("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
    dispatchEvent(new Event("themechange"));
  });
}

document.querySelector("nav a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// g and a letter lead to a screen, / to the search.
let g = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
    return;
  }
  if (Date.now() - g < 1500) {
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    g = 0;
    if (link) link.click();
    return;
  }
  if (event.key === "g") g = Date.now();
});

// What several screens are made of.
import { go, here, html, number, render, useEffect, useRef, useState } from "./page.js";

// take gives a screen its place, once there is something to show there.
export function take(id, screen) {
  const place = document.getElementById(id);
  place.replaceChildren();
  render(screen, place);
}

// Card is a part of a screen that has a heading.
export function Card({ id, title, tools, children, ...rest }) {
  return html`<section class="card" id=${id + "-card"} aria-labelledby=${id} ...${rest}><div class="row head"><h2 id=${id}>${title}</h2>${tools}</div>${children}</section>`;
}

// Table shows rows below the names of their columns; a name that begins with # is of numbers. Where there is little room each row
// stands for itself, and each cell beside the name of its column.
export function Table({ columns, label, empty, children }) {
  const body = useRef(null);
  useEffect(() => {
    for (const row of body.current?.rows ?? []) {
      for (const cell of row.cells) cell.dataset.column = typeof columns[cell.cellIndex] === "string" ? columns[cell.cellIndex].replace("#", "") : columns[cell.cellIndex].name;
    }
  });
  if (!children?.length) return html`<p class="empty">${empty}</p>`;
  const head = columns.map((column) => (typeof column === "string" ? html`<th class=${column[0] === "#" ? "n" : ""}>${column.replace("#", "")}</th>` : html`<th class="n">${column.head}</th>`));
  return html`<div class="table rows"><table aria-label=${label}><thead><tr>${head}</tr></thead><tbody ref=${body}>${children}</tbody></table></div>`;
}

// calmly has something done when it is called, at most once in two seconds: what is told too often.
export function calmly(act) {
  let waits = false;
  let last = -Infinity;
  return () => {
    if (waits) return;
    waits = true;
    setTimeout(() => {
      waits = false;
      last = performance.now();
      act();
    }, Math.max(0, last + 2000 - performance.now()));
  };
}

// useAsked follows what ask gives: at first, when something of what it depends on is another, and again after some seconds. A
// gateway that takes long is asked less often, and never twice at a time. It returns what was given last, why there is nothing else, and how to ask now.
export function useAsked(ask, depends, seconds = 5) {
  const [state, setState] = useState({ value: null, problem: null });
  const now = useRef(null);
  useEffect(() => {
    let ended = false;
    let asking = false;
    let more = false; // it is to be asked once again when there is an answer
    let timer = 0;
    async function once() {
      clearTimeout(timer);
      if (asking) {
        more = true;
        return;
      }
      if (document.hidden) {
        timer = setTimeout(once, 1000);
        return;
      }
      const began = performance.now();
      asking = true;
      try {
        const value = await ask();
        if (!ended) setState({ value, problem: null });
      } catch (problem) {
        if (!ended) setState((before) => ({ value: before.value, problem }));
      }
      asking = false;
      if (!ended) timer = setTimeout(once, more ? 0 : Math.max(seconds * 1000, 10 * (performance.now() - began)));
      more = false;
    }
    now.current = once;
    once();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, depends);
  return [state.value, state.problem, () => now.current?.()];
}

// Wrong says why there is nothing to see.
export function Wrong({ of }) {
  if (!of) return null;
  const faults = of.errors ?? [];
  return html`<div class="health bad" role="alert"><p>${of.message}</p>
    ${faults.length > 0 && html`<ul>${faults.map((f) => html`<li><code>${f.file}:${f.line}</code> ${f.detail}</li>`)}</ul>`}
    ${of.remedy && html`<p class="note">${of.remedy}</p>`}</div>`;
}

// useHere follows some parameters of the address of the page, and changes them.
export function useHere(keys) {
  const read = () => Object.fromEntries(keys.map((key) => [key, here()[key] ?? ""]));
  const [values, setValues] = useState(read);
  return [
    values,
    (changed) => {
      go(changed);
      setValues(read());
    },
  ];
}

// Part is a number as a part of what it may be at most.
export function Part({ used, of, href, calm }) {
  const full = of > 0 ? Math.min(1, used / of) : 0;
  const shown = href ? html`<a href=${href}>${number(used)}</a>` : number(used);
  return html`<span class="part"><span>${shown}${of > 0 && html` <small>of ${number(of)}</small>`}</span>
    ${of > 0 && html`<meter min="0" max="1" value=${full} high=${calm ? undefined : "0.8"} title=${`${Math.round(full * 100)} %`}></meter>`}</span>`;
}

// half splits an endpoint into its address and its port.
export function half(endpoint) {
  const at = endpoint.lastIndexOf(":");
  return [endpoint.slice(0, at).replace(/^\[|\]$/g, ""), endpoint.slice(at + 1)];
}

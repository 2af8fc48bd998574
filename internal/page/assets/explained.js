// What an explanation says, as the command realmgate explain says it.
import { get, here, html, query } from "./page.js";

export const keys = ["address", "to", "name", "protocol", "port", "direction"];

// asked is the question that the address of the page holds.
export const asked = () => Object.fromEntries(keys.map((key) => [key, here()[key] ?? ""]));

// explain asks; it changes nothing.
export const explain = (question) => get("/v1/explain" + query(question));

// because is what decided, if anything did.
export function because({ reason, function: by }) {
  if (by && reason) return `${reason} by ${by}`;
  return by ? `accepted by ${by}` : (reason ?? "");
}

const many = (n, one, more) => `${n} ${n === 1 ? one : more}`;

// flow writes which flow was asked about, end how it would end.
function flow(x) {
  const to = x.to ? ` to ${x.to}` : "";
  const port = x.port ? (x.to ? ` port ${x.port}` : ` to port ${x.port}`) : "";
  return `A new ${x.protocol ? x.protocol + " " : ""}flow from ${x.from}${to}${port}${x.name ? ` that names ${x.name}` : ""}`;
}
function end(x) {
  if (!x.to && !x.name && !x.reason) {
    const reached = (x.services ?? []).filter((service) => service.passes).length;
    return `would reach ${reached} of ${many((x.services ?? []).length, "service", "services")}`;
  }
  return x.passes ? "would pass" : "would be dropped";
}

// passes reports whether somebody is let through, at least to something.
const passes = (x) => (!x.to && !x.name && !x.reason ? (x.services ?? []).some((service) => service.passes) : x.passes);

// Verdict is an explanation in one sentence.
export const Verdict = ({ of }) => html`<p id="verdict" class=${"health " + (passes(of) ? "well" : "bad")}>
  <span class="mark" aria-hidden="true">${passes(of) ? "✔" : "✘"}</span>
  <span>${flow(of)} <b>${end(of)}</b>${because(of) && html` (<${By} of=${of} />)`}</span></p>`;

// By is what decided, with where to read on.
function By({ of }) {
  const reason = of.reason && html`<a href=${"/drops" + query({ reason: of.reason })}>${of.reason}</a>`;
  if (!of.function) return reason;
  const by = html`<a href=${"/chains" + query({ chain: of.function.split("/")[0] })}>${of.function}</a>`;
  return of.reason ? html`${reason} by ${by}` : html`accepted by ${by}`;
}


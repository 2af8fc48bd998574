// Drops: which packets do not pass, why, and from where.
import { When, compact, get, go, here, html, listen, may, number, query, render, span } from "../page.js";
import { Log } from "../log.js";
import { reasons } from "../reasons.js";
import { countries, width, height } from "../vendored/world.js";

const asked = here();
const room = document.getElementById("reasons");
let before = null;
let rates = {};

function Reasons({ rows }) {
  if (rows.length === 0) return html`<p class="empty">Nothing was dropped yet.</p>`;
  const most = Math.max(...rows.map((r) => r.packets));
  return html`<ul class="bars">${rows.map((r) => {
    const [what, todo] = reasons[r.reason] ?? ["", ""];
    return html`<li key=${r.reason}><details open=${asked.reason === r.reason}>
      <summary><span class="name">${r.reason}</span><span class="rate">${rates[r.reason] ? `${compact(rates[r.reason])}/s` : ""}</span><b>${number(r.packets)}</b>
        <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="4" class="rail" /><rect width=${Math.max(0.6, (100 * r.packets) / most)} height="4" class="bar" /></svg></summary>
      <p>${what}</p><p><b>What to do:</b> ${todo}</p>
      <p><a href=${"/drops" + query({ reason: r.reason })}>Show only these</a></p>
    </details></li>`;
  })}</ul>`;
}

function status(s) {
  const rows = s.reasons.filter((r) => r.reason.startsWith("drop_")).sort((a, b) => b.packets - a.packets);
  const now = performance.now();
  if (before) rates = Object.fromEntries(rows.map((r) => [r.reason, Math.max(0, ((r.packets - (before.counts[r.reason] ?? 0)) * 1000) / (now - before.now))]));
  before = { now, counts: Object.fromEntries(rows.map((r) => [r.reason, r.packets])) };
  if (!room.dataset.live) {
    room.dataset.live = "yes";
    room.replaceChildren();
  }
  render(html`<${Reasons} rows=${rows} />`, room);
}

// From where, of the sample since this page was opened.
const seen = new Map();
function World() {
  const most = Math.max(1, ...seen.values());
  return html`<svg class="world" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label="The countries that dropped packets come from; the table below says the same">
    ${Object.entries(countries).map(([code, [name, path]]) => {
      const n = seen.get(code) ?? 0;
      return html`<path key=${code} d=${path} class=${n ? "hit-" + Math.ceil((4 * Math.log(1 + n)) / Math.log(1 + most)) : ""}><title>${n ? `${name}: ${n}` : name}</title></path>`;
    })}</svg>`;
}
function Countries() {
  const rows = [...seen].sort((a, b) => b[1] - a[1]).slice(0, 10);
  if (rows.length === 0) return html`<p class="note">Countries show here as packets are dropped, where a <code>geo</code> table is in force.</p>`;
  return html`<div class="table"><table><thead><tr><th>Country</th><th class="n">Packets of the sample</th></tr></thead><tbody>
    ${rows.map(([code, n]) => html`<tr key=${code}><td><a href=${"/drops" + query({ country: code })}>${countries[code]?.[0] ?? code}</a></td><td class="n">${number(n)}</td></tr>`)}
  </tbody></table></div>`;
}
let due = 0;
function drawWorld() {
  due = 0;
  render(html`<${World} />`, document.getElementById("map"));
  render(html`<${Countries} />`, document.getElementById("countries"));
}
drawWorld();

// explain leads to what decides about such a flow.
function explain(d) {
  const { protocol, source, destination } = d.tuple;
  const [from, to] = [source, destination].map((end) => end.replace(/:\d+$/, ""));
  const port = destination.split(":").pop();
  return "/explain" + query({ address: from, to, protocol, port, direction: d.side === "private" ? "out" : "in" });
}

const outside = (d) => (d.side === "private" ? d.tuple.destination : d.tuple.source).replace(/:\d+$/, "");
let keys = 0;
const log = new Log({
  form: document.getElementById("filter"),
  room: document.getElementById("log"),
  initial: [asked.reason, asked.country, asked.address].filter(Boolean).join(" "),
  head: ["Time", "Reason", "Flow", "Country", "Host", "", ""],
  words: (d) => [d.reason, d.tuple.source, d.tuple.destination, d.tuple.protocol, d.country, d.host, d.interface].join(" "),
  row: (d) => html`<tr key=${d.key}>
    <td><${When} at=${d.time} /></td>
    <td><a href=${"/drops" + query({ reason: d.reason })}>${d.reason}</a></td>
    <td>${d.tuple.protocol} <span class="address">${d.tuple.source} → ${d.tuple.destination}</span></td>
    <td>${d.country}</td>
    <td>${d.host ? html`<a href=${"/sessions" + query({ host: d.host })}>${d.host}</a>` : null}</td>
    <td class="n"><small>${d.length} B</small></td>
    <td class="does"><a href=${explain(d)}>explain</a></td>
  </tr>`,
});
document.getElementById("filter").addEventListener("input", () => go({ reason: "", country: "", address: "" }));

listen(may("operate") ? ["drops"] : [], {
  status,
  drops: (d) => {
    if (d.country) seen.set(d.country, (seen.get(d.country) ?? 0) + 1);
    log.add([{ ...d, key: ++keys }]);
    due ||= setTimeout(drawWorld, 500);
  },
});
if (!may("operate")) document.getElementById("log").textContent = "To look at dropped packets takes the role operate.";

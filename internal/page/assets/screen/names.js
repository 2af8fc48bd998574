// Names: what is asked, what is answered, and whether somebody came.
import { Address, Button, When, get, go, here, html, listen, may, number, query, render, span } from "../page.js";
import { keepOut } from "../bans.js";
import { Log } from "../log.js";

let keys = 0;
const log = new Log({
  form: document.getElementById("filter"),
  room: document.getElementById("log"),
  initial: here().name ?? here().asker ?? "",
  head: ["Time", "Asker", "Name", "Answer", "Then", "Took", ""],
  words: (q) => [q.asker, q.name, q.type, q.code, q.side, q.why, ...(q.answers ?? [])].join(" "),
  row: (q) => html`<tr key=${q.key}>
    <td><${When} at=${q.time} /></td>
    <td><${Address} of=${q.asker} />${q.side === "private" && html` <span class="tag">inside</span>`}</td>
    <td>${q.name} <small>${q.type}</small></td>
    <td><${Answer} of=${q} /></td>
    <td>${q.claimed === undefined ? null : html`<span class="tag good">claimed after ${span(q.claimed)}</span>`}</td>
    <td class="n" data-label="took">${span(q.took)}</td>
    <td class="does">${q.side === "public" && html`<a href=${"/explain" + query({ address: q.asker, to: q.name })}>explain</a>`}
      ${q.side === "public" && may("operate") && html` <${Button} does=${() => keepOut(q.asker, 86400)} aria-label=${"Ban " + q.asker}>ban</${Button}>`}</td>
  </tr>`,
});

function Answer({ of }) {
  if (of.cut) return html`<span class="tag">come by TCP</span>`;
  if (of.code !== "NOERROR") return html`<span class="tag bad">${of.code}</span> <small>${of.why}</small>`;
  if (!of.answers) return html`<span class="tag">no such record</span>`;
  return of.answers.map((text, i) => html`${i ? ", " : ""}${/^[\d.]+$/.test(text) && of.side === "public" ? html`<a class="address" href=${"/ring" + query({ at: text })}>${text}</a>` : html`<span class="address">${text}</span>`}`);
}

const table = document.getElementById("names");
async function list() {
  const { name = "", asker = "" } = here();
  let { items } = await get("/v1/names?limit=200&sort=-asked").catch(() => ({ items: null }));
  if (!items) return;
  items = items.filter((n) => n.service.includes(name) && (n.asker ?? "").includes(asker));
  if (!table.dataset.live) {
    table.dataset.live = "yes";
    table.replaceChildren();
  }
  render(
    html`<div class="table stack"><table><thead><tr><th>Name</th><th>Host</th><th>Address</th><th class="n">Asked</th><th class="n">Lent</th><th class="n">Refused</th><th>Last asker</th><th>Why refused</th></tr></thead><tbody>
    ${items.map((n) => html`<tr key=${n.service}>
      <td>${n.service}</td>
      <td><a href=${"/sessions" + query({ host: n.host })}>${n.host}</a></td>
      <td>${n.address ? html`<a class="address" href=${"/ring" + query({ at: n.address })}>${n.address}</a>` : "–"}</td>
      <td class="n" data-label="asked">${number(n.asked)}</td><td class="n" data-label="lent">${number(n.lent)}</td><td class="n" data-label="refused">${number(n.refused)}</td>
      <td data-label="last asker"><${Address} of=${n.asker} /> ${n.last && html`<small><${When} at=${n.last} /></small>`}</td>
      <td>${n.why}</td></tr>`)}
    </tbody></table></div>
    ${items.length === 0 && html`<p class="empty">No name is like that. <a href="/names">Show all</a></p>`}`,
    table,
  );
}

let listed = 0;
listen(["names"], {
  begin: list,
  names: ({ questions = [], claims = [], more = 0 }) => {
    log.add(questions.map((q) => ({ ...q, key: ++keys })), more);
    for (const c of claims) {
      let found = false;
      log.amend((q) => {
        if (found || q.claimed !== undefined || q.asker !== c.asker || q.name.toLowerCase() !== c.name.toLowerCase() || !q.answers) return q;
        found = true;
        return { ...q, claimed: c.after };
      });
    }
    if (Date.now() - listed > 2000) {
      listed = Date.now();
      list();
    }
  },
});
document.getElementById("filter").addEventListener("input", (event) => go({ name: event.target.value, asker: "" }));

// Ring: which address has what, and who has it.
import { Address, When, get, go, here, html, may, number, query, render, span, Button, post, say } from "../page.js";
import { follow } from "../ring.js";

const chosen = document.getElementById("chosen");
const rows = document.getElementById("rows");
const legend = document.getElementById("legend");
const asked = []; // the last questions that were answered with an address

const ring = follow(document.getElementById("ring"), {
  choose: (place, pick) => show(ring.pool.address(place), pick),
  topics: ["names"],
  handlers: {
    begin: list,
    names: ({ questions = [] }) => {
      for (const q of questions) if (q.answers && q.side === "public") asked.unshift(q);
      asked.length = Math.min(asked.length, 200);
    },
  },
  told: (pool) => {
    for (const [use, count] of Object.entries(pool.counts())) {
      const link = legend?.querySelector(`.use-${use} a`);
      if (link) link.textContent = number(count);
    }
    if (chosen.dataset.at) soon ||= setTimeout(again, 500);
    const { at } = here();
    if (at && !opened) {
      opened = true;
      find(at);
    }
  },
});
let opened = false;
let soon = 0;
function again() {
  soon = 0;
  show(chosen.dataset.at, false);
}

// show says who has an address, since when and for whom.
async function show(address, pick) {
  const place = ring.pool.place(address);
  chosen.dataset.at = address;
  if (pick) go({ at: address });
  let bindings = [];
  try {
    bindings = (await get("/v1/pool" + query({ address }))).items;
  } catch {
    return; // the connection is gone, and a bar says so
  }
  const question = asked.find((q) => q.answers.includes(address));
  const use = ring.pool.use(place);
  const changed = ring.pool.since[place];
  render(
    html`<div class="chosen use-${use}">
      <p><i aria-hidden="true"></i> <b class="address">${address}</b> is <b>${use}</b>${changed ? `, for ${span((performance.now() - changed) / 1000)} so far` : ""}.
      ${question ? html` It was answered to <${Address} of=${question.asker} /> for ${question.name} at <${When} at=${question.time} />.` : ""}</p>
      ${bindings.map((b) => html`<dl class="facts" key=${b.service}>
        <div><dt>Service</dt><dd><a href=${"/names" + query({ name: b.service })}>${b.service}</a></dd></div>
        <div><dt>Host</dt><dd><a href=${"/sessions" + query({ host: b.host })}>${b.host}</a> <${Address} of=${b.private} /></dd></div>
        <div><dt>Ports</dt><dd>${b.ports.join(", ")}</dd></div>
        <div><dt>Sessions</dt><dd><a href=${"/sessions" + query({ address })}>${number(b.sessions)}</a></dd></div>
        <div><dt>Offers open</dt><dd>${number(b.reservations)}${b.reservations ? ` for ${number(b.claims)} clients` : ""}</dd></div>
        <div><dt>Rests</dt><dd>${b.rests > 0 ? `${span(b.rests)} more` : "no more"}</dd></div>
      </dl>`)}
      ${bindings.length === 0 && html`<p class="note">No service has it.</p>`}
      ${may("operate") && bindings.some((b) => b.sessions > 0) && html`<${Button} does=${async () => say(`${(await post("/v1/sessions/end" + query({ address }))).sessions} sessions are ended.`)}>End its sessions</${Button}>`}
    </div>`,
    chosen,
  );
}

// find chooses what somebody looks for: an address, or a name that has one.
async function find(text) {
  let address = text.trim();
  if (ring.pool.place(address) < 0) {
    const { items } = await get("/v1/pool?limit=10000");
    const one = items.find((b) => b.service.includes(address) || b.host.includes(address));
    if (!one) {
      say(`Nothing in the pool is called ${text}.`);
      return;
    }
    address = one.address;
  }
  ring.select(ring.pool.place(address));
}
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  find(event.target.at.value).catch(() => {});
});

// list shows the services, or those of the addresses with one use.
async function list() {
  const { use } = here();
  let { items } = await get("/v1/pool?limit=10000").catch(() => ({ items: [] }));
  if (use) items = items.filter((b) => ring.pool.use(ring.pool.place(b.address)) === use);
  const shown = items.slice(0, 200);
  rows.replaceChildren();
  render(
    html`${use && html`<p class="note">Those that are ${use}. <a href="/ring">Show all</a></p>`}
    <div class="table stack"><table><thead><tr><th>Address</th><th>Service</th><th>Host</th><th class="n">Sessions</th></tr></thead><tbody>
      ${shown.map((b) => html`<tr key=${b.address + b.service}><td><a class="address" href=${"/ring" + query({ at: b.address })} onClick=${(event) => {
        event.preventDefault();
        ring.select(ring.pool.place(b.address));
      }}>${b.address}</a></td><td>${b.service}</td><td><a href=${"/sessions" + query({ host: b.host })}>${b.host}</a></td><td class="n" data-label="sessions"><a href=${"/sessions" + query({ address: b.address })}>${number(b.sessions)}</a></td></tr>`)}
    </tbody></table></div>
    ${items.length === 0 && html`<p class="empty">None${use ? ` is ${use}` : ""}.</p>`}
    ${items.length > shown.length && html`<p class="note">The first ${shown.length} of ${number(items.length)}.</p>`}`,
    rows,
  );
}

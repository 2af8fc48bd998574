// Now: is it well, what does the pool do, what happened.
import { Address, When, compact, get, health, html, number, query, render } from "../page.js";
import { follow } from "../ring.js";
import { Charts } from "../charts.js";

const list = document.getElementById("event-list");
const happened = [];
function tellEvent(...events) {
  for (const event of events) if (!happened.some((one) => one.sequence === event.sequence)) happened.push(event);
  happened.sort((a, b) => b.sequence - a.sequence);
  if (!list.dataset.live) {
    list.dataset.live = "yes";
    list.replaceChildren();
  }
  happened.length = Math.min(happened.length, 10);
  render(happened.map((one) => html`<${Happened} key=${one.sequence} of=${one} />`), list);
}

// What an event says beside its kind, in a few words.
const worded = (value) => {
  if (Array.isArray(value)) return value.map(worded).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value).toLocaleString() : String(value);
};
function Happened({ of }) {
  const { time, kind, instance, sequence, ...rest } = of;
  const words = Object.entries(rest)
    .filter(([, value]) => value !== "" && value != null)
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${worded(value)}`);
  return html`<li><${When} at=${time} /> <b>${kind.replaceAll("_", " ")}</b> <span>${words.join(" · ")}</span></li>`;
}

const single = !document.getElementById("ring"); // a machine with nobody behind it
function Figures({ status }) {
  const s = status;
  const bans = html`<div><dt>Bans</dt><dd><a href="/protection">${number(s.bans)}</a></dd></div>`;
  if (single) return bans;
  return html`
    <div><dt>Sessions</dt><dd><a href="/sessions">${number(s.sessions.used)}</a> <small>of ${compact(s.sessions.capacity)}</small></dd></div>
    <div><dt>Names lent</dt><dd><a href="/names">${number(s.lent)}</a> <small>${compact(s.claimed)} claimed, ${compact(s.expired)} not</small></dd></div>
    <div><dt>Questions</dt><dd><a href="/names">${number(s.dns.queries)}</a> <small>${compact(s.dns.refused)} refused</small></dd></div>
    ${bans}`;
}

// The name that was lent last, and to whom.
const note = document.getElementById("asked");
const Lent = ({ of }) => html`<a href=${"/names" + query({ name: of.name })}>${of.name}</a> is at <a class="address" href=${"/ring" + query({ at: of.answers[0] })}>${of.answers[0]}</a>, says the answer to <${Address} of=${of.asker} />.`;

const figures = document.getElementById("figure-list");
const charts = new Charts(document.getElementById("charts"), [
  { name: "Packets a second", rate: (s) => s.reasons.reduce((sum, r) => sum + (r.reason.startsWith("drop") ? 0 : r.packets), 0), href: "/gateway" },
  { name: "Drops a second", rate: (s) => s.reasons.reduce((sum, r) => sum + (r.reason.startsWith("drop") ? r.packets : 0), 0), href: "/drops" },
  { name: "Questions a second", rate: (s) => s.dns.queries, href: "/names", inside: true },
  { name: "Sessions", value: (s) => s.sessions.used, href: "/sessions", inside: true },
].filter((chart) => !(single && chart.inside)));

const legend = document.getElementById("legend");
const follower = follow(document.getElementById("ring"), {
  choose: (place, chosen) => chosen && location.assign("/ring?at=" + follower.pool.address(place)),
  topics: ["bans", "events", "names"],
  handlers: {
    begin: () => {
      happened.length = 0; // after a restart their numbers begin anew
      get("/v1/events/last").then((last) => last.items.length && tellEvent(...last.items), () => {});
    },
    bans: tellEvent,
    events: tellEvent,
    names: ({ questions = [] }) => {
      const lent = questions.findLast((q) => q.side === "public" && q.answers);
      if (lent && note) {
        if (!note.dataset.live) note.replaceChildren();
        note.dataset.live = "yes";
        render(html`<${Lent} of=${lent} />`, note);
      }
    },
    status: (status) => {
      health(status);
      if (figures.dataset.live !== "yes") {
        figures.dataset.live = "yes";
        figures.replaceChildren();
      }
      render(html`<${Figures} status=${status} />`, figures);
      charts.add(status);
    },
  },
  told: (pool) => {
    for (const [use, count] of Object.entries(pool.counts())) {
      const link = legend?.querySelector(`.use-${use} a`);
      if (link) link.textContent = number(count);
    }
  },
});

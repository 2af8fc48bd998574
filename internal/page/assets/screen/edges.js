// Edges: the links to other edges as a map, and the pacts of each.
import { Address, get, here, html, number, query, span, When } from "../page.js";
import { Card, Table, take, useAsked, Wrong } from "../parts.js";

const mostDrawn = 24;
const mostNamed = 12; // more names would lie upon each other

// places puts n nodes around the middle of the map, the first to the right; up to two are in a row with it.
const places = (n) => Array.from({ length: n }, (_, i) => {
  const turn = (2 * Math.PI * i) / n;
  return { x: 200 + 130 * Math.cos(turn), y: 125 + 92 * Math.sin(turn) };
});

// thick is how thick a link with pacts is drawn: a step for each power of ten.
const thick = (pacts) => 2 + 2 * (pacts > 0 ? Math.min(4, Math.ceil(Math.log10(pacts + 1))) : 0);

const short = (name, most = 17) => (name.length > most ? name.slice(0, most - 1) + "…" : name);
const of = (edge) => "/edges" + query({ edge });
const State = ({ of: edge }) => html`<span class=${"tag " + (edge.state === "up" ? "good" : "bad")}>${edge.state}</span>`;
const said = (edge) => `${edge.name} is ${edge.state}, ${number(edge.pacts)} ${edge.pacts === 1 ? "pact" : "pacts"}`;

function Chart({ edges, chosen }) {
  const drawn = [...edges].sort((a, b) => b.pacts - a.pacts).slice(0, mostDrawn);
  const at = places(drawn.length);
  const classOf = (edge) => `${edge.state === "up" ? "up" : "down"}${edge.name === chosen ? " chosen" : ""}`;
  return html`<svg class="links" viewBox=${drawn.length > 2 ? "0 0 400 260" : "0 95 400 75"} role="group" aria-label="Links to other edges">
    ${drawn.map((edge, i) => html`<line key=${"l" + edge.name} class=${classOf(edge)} x1="200" y1="125" x2=${at[i].x} y2=${at[i].y} stroke-width=${thick(edge.pacts)} />`)}
    <circle class="own" cx="200" cy="125" r="13" /><text x="200" y="155">this edge</text>
    ${drawn.map((edge, i) => html`<a key=${edge.name} class=${classOf(edge)} href=${of(edge.name === chosen ? "" : edge.name)} aria-label=${said(edge)} aria-current=${edge.name === chosen ? "true" : undefined}>
      <title>${said(edge)}</title><circle cx=${at[i].x} cy=${at[i].y} r="10" />
      ${drawn.length <= mostNamed && html`<text x=${at[i].x} y=${at[i].y + 27}>${short(edge.name)}</text>`}</a>`)}
  </svg>
  <p class="note">Thicker links have more pacts: ten times for each step. ${edges.length > mostDrawn && `Drawn are the ${mostDrawn} with most pacts, of ${number(edges.length)}.`}</p>`;
}

const Edges = ({ edges }) => html`<${Table} label="Other edges" columns=${["Edge", "Zones", "State", "Since", "Address", "#Ping", "#MTU", "#Pacts", "Last error"]}>${edges.map(
  (edge) => html`<tr key=${edge.name}><td><a href=${of(edge.name)}>${edge.name}</a></td><td>${edge.zones.join(" ")}</td><td><${State} of=${edge} /></td>
    <td>${edge.since ? html`<${When} at=${edge.since} />` : "–"}</td><td><${Address} of=${edge.address} /></td>
    <td class="n">${edge.rtt_ms ? span(edge.rtt_ms / 1000) : "–"}</td><td class="n">${edge.mtu ? number(edge.mtu) : "–"}</td><td class="n">${number(edge.pacts)}</td><td>${edge.error}</td></tr>`,
)}<//>`;

const ways = { out: "here", in: "there", both: "both" };

const Pacts = ({ pacts }) => html`<${Table} label="Pacts" columns=${["Here", "There", "Stands for it", "Begins", "Open here", "Used", "Until", "Tag"]} empty="There are no pacts.">${pacts.map(
  (pact) => html`<tr key=${pact.tag}><td><a href=${"/sessions" + query({ address: pact.host })}>${pact.local}</a> <small class="address">${pact.host}</small></td><td>${pact.remote}</td>
    <td><${Address} of=${pact.proxy} /></td><td>${ways[pact.direction] ?? pact.direction}</td><td>${pact.services.join(" ")}</td>
    <td><${When} at=${pact.used} /></td><td><${When} at=${pact.until} /></td><td><code>${pact.tag}</code></td></tr>`,
)}<//>`;

const ask = () => Promise.all([get("/v1/edges?limit=200"), get("/v1/pacts?limit=200&sort=-used")]).then(([edges, pacts]) => ({ edges: edges.items, pacts: pacts.items }));

function Screen() {
  const [asked, problem] = useAsked(ask, [], 2);
  if (!asked) return html`<${Wrong} of=${problem} />`;
  const { edges, pacts } = asked;
  const chosen = here().edge ?? "";
  if (!edges.length) return html`<${Wrong} of=${problem} /><${Card} id="links" title="Other edges"><p class="empty">There are no other edges: <code>edges.peers</code> of the configuration has none.</p><//>`;
  const shown = chosen ? pacts.filter((pact) => pact.edge === chosen) : pacts;
  return html`<${Wrong} of=${problem} />
    <${Card} id="links" title="Links to other edges"><${Chart} edges=${edges} chosen=${chosen} /><${Edges} edges=${edges} /><//>
    <${Card} id="pacts" title=${chosen ? "Pacts with " + chosen : "Pacts, by their last use"} tools=${chosen && html`<a class="button" href="/edges">Show all</a>`}><${Pacts} pacts=${shown} /><//>`;
}

take("edges-live", html`<${Screen} />`);

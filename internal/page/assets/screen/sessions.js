// Sessions: how many of which kind, who has an address, and each of them.
import { Address, Button, compact, get, health, html, listen, may, number, post, query, say, span, useEffect, useState } from "../page.js";
import { all, alone, covers, isAddress, keepOut, Left, letIn } from "../bans.js";
import { Capture } from "../capture.js";
import { Card, half, Table, take, useAsked, useHere, Wrong } from "../parts.js";
import { Pool } from "../ring.js";

const keys = ["address", "host", "protocol", "port"];
const rows = 100;

// outward are sessions that began at their private end.
const outward = (session) => ["inside", "own", "basic", "edge_out"].includes(session.origin);

// asOne tells a session from others, as far as filters can.
function asOne(session) {
  const [address, port] = half(outward(session) ? session.private : session.remote);
  return query({ address, port: port === "0" ? "" : port, protocol: session.protocol, host: session.host });
}

// question is what to ask about a new flow like a session.
function question(session) {
  const [inside] = half(session.private);
  const [remote, remotePort] = half(session.remote);
  const [external, externalPort] = half(session.external);
  const port = (text) => (session.protocol === "tcp" || session.protocol === "udp" ? text : "");
  if (outward(session)) return query({ address: inside, to: remote, protocol: session.protocol, port: port(remotePort) });
  const flow = { address: remote, protocol: session.protocol, port: port(externalPort) };
  if (session.origin === "web") return query({ ...flow, name: session.name });
  return query({ ...flow, to: session.name || external });
}

const groups = [
  ["host", "Host", (key) => ({ host: key })],
  ["name", "Name", (key) => ({ host: key })],
  ["country", "Country", null],
  ["state", "State", null],
];

// Groups are sessions of a kind: bars, the longest first.
function Groups({ by, title, filter, choose, of }) {
  if (!of) return html`<${Card} id=${"by-" + by} title=${title}><p class="empty">…</p><//>`;
  const most = Math.max(1, ...of.groups.map((group) => group.sessions));
  return html`<${Card} id=${"by-" + by} title=${title}>
    ${of.groups.length === 0 && html`<p class="empty">None.</p>`}
    <ul class="most">${of.groups.map(({ key, sessions }) => {
      const to = filter && key && filter(key);
      const inside = html`<span>${key || "not known"}</span><b>${compact(sessions)}</b><meter min="0" max=${most} value=${sessions}></meter>`;
      return html`<li key=${key}>${to ? html`<a href=${query(to)} onClick=${(e) => { e.preventDefault(); choose(to); }}>${inside}</a>` : html`<span class="bar">${inside}</span>`}</li>`;
    })}</ul>
    ${of.others > 0 && html`<p class="note">${compact(of.others)} of others</p>`}
  <//>`;
}

const pool = new Pool(() => {});

async function about(address) {
  const [bound, hosts, bans] = await Promise.all([get("/v1/pool" + query({ address })), get("/v1/hosts" + query({ address })), all(), pool.begin()]);
  const place = address.includes(":") ? -1 : pool.place(address);
  return { bound: bound.items, hosts: hosts.items, ban: bans.items.find((ban) => covers(ban.prefix, address)), use: place < 0 ? "" : pool.use(place) };
}

// About is all that is known of an address.
function About({ address }) {
  const [asked, problem, again] = useAsked(() => about(address), [address]);
  if (!asked) return html`<${Wrong} of=${problem} />`;
  const { bound, hosts, ban, use } = asked;
  const inside = hosts.length > 0;
  const outside = !use && !inside;
  return html`<${Card} id="about" title=${address} tools=${html`<span class="row">
      ${may("operate") && outside && html`<a class="button" href=${"/explain" + query({ address })}>Explain</a>`}
      ${may("operate") && ban && html`<${Button} does=${() => letIn(ban, again)}>Unban<//>`}
      ${may("operate") && outside && !ban && html`<${Button} does=${() => keepOut(address, 86400, again)}>Ban for a day<//>`}
    </span>`}>
    <ul class="known">
      ${use && bound.length === 0 && html`<li>An address of the pool. Nobody holds it: it is ${use}.</li>`}
      ${bound.map((one) => html`<li><a href=${"?" + new URLSearchParams({ host: one.host })}>${one.host}</a> (${one.private}) holds it, as ${one.service}: ${one.ports.join(", ")}. It is ${use || one.state}, with ${number(one.sessions)} sessions, and ${number(one.reservations)} answers that wait for a client.</li>`)}
      ${hosts.map((host) => html`<li>The private address of <a href=${"?" + new URLSearchParams({ host: host.name })}>${host.name}</a>, with ${number(host.services.length)} open services.</li>`)}
      ${ban && html`<li><b>Banned</b>: ${ban.reason || "nobody noted why"}. Time left: <${Left} of=${ban} />. <a href=${"/protection" + query({ address })}>${alone(ban.prefix)}</a></li>`}
      ${outside && !ban && html`<li>Not banned, and no address of a host or of the pool.</li>`}
    </ul>
  <//>`;
}

function Filters({ filter, choose }) {
  const [text, setText] = useState(filter.address || filter.host);
  useEffect(() => setText(filter.address || filter.host), [filter.address, filter.host]);
  const search = (e) => {
    e.preventDefault();
    const wanted = text.trim();
    choose(isAddress(wanted) ? { address: wanted, host: "" } : { address: "", host: wanted });
  };
  const any = keys.some((key) => filter[key]);
  return html`<form class="row filters" role="search" onSubmit=${search}>
    <label class="grow"><span class="sr">Address, host or name</span><input type="search" placeholder="Address, host or name  /" value=${text} onInput=${(e) => setText(e.target.value)} /></label>
    <label><span class="sr">Protocol</span><select value=${filter.protocol} onChange=${(e) => choose({ protocol: e.target.value })}><option value="">Any protocol</option>${["tcp", "udp", "icmp"].map((p) => html`<option>${p}</option>`)}</select></label>
    <label><span class="sr">Port</span><input class="port" inputmode="numeric" placeholder="Port" value=${filter.port} onChange=${(e) => choose({ port: e.target.value.trim() })} /></label>
    <button class="main">Show</button>
    ${any && html`<button type="button" onClick=${() => choose(Object.fromEntries(keys.map((key) => [key, ""])))}>All</button>`}
  </form>`;
}

function One({ session, choose, again, capture }) {
  const end = async () => {
    const { sessions } = await post("/v1/sessions/end" + asOne(session));
    say(sessions === 1 ? "The session is ended." : `${number(sessions)} sessions are ended.`);
    again();
  };
  const shown = (endpoint) => {
    const [address, port] = half(endpoint);
    return html`<${Address} of=${address} /><small>:${port}</small>`;
  };
  const to = session.host && { host: session.host };
  return html`<tr>
    <td class="short">${session.protocol}</td>
    <td>${to ? html`<a href=${query(to)} onClick=${(e) => { e.preventDefault(); choose(to); }}>${session.host}</a><br />` : ""}${shown(session.private)}</td>
    <td>${session.name && html`${session.name}<br />`}${shown(session.external)}</td>
    <td class="short">${shown(session.remote)}</td>
    <td>${session.state.replaceAll("_", " ")}<br /><small>${session.origin.replaceAll("_", " ")}${session.hairpin ? ", hairpin" : ""}</small></td>
    <td class="n">${span(session.age)}</td>
    <td class="n">${span(session.idle)}</td>
    <td class="n acts">
      ${may("operate") && html`<a class="button" href=${"/explain" + question(session)}>Explain</a> <${Button} does=${end}>End<//>`}
      ${may("admin") && html` <button type="button" onClick=${() => capture(session)}>Capture</button>`}
    </td>
  </tr>`;
}

// Page is a part of all sessions, as many as fit.
function Page({ filter, sort, choose, count }) {
  const [cursors, setCursors] = useState([""]);
  const [captured, capture] = useState(null);
  useEffect(() => setCursors([""]), [...keys.map((key) => filter[key]), sort]);
  const cursor = cursors[cursors.length - 1];
  const [page, problem, again] = useAsked(() => get("/v1/sessions" + query({ ...filter, sort, limit: rows, cursor })), [...keys.map((key) => filter[key]), sort, cursor]);
  const any = keys.some((key) => filter[key]);
  const endAll = async () => {
    const { sessions } = await post("/v1/sessions/end" + query(filter));
    say(`${number(sessions)} sessions are ended.`);
    again();
  };
  const order = (field, title) => {
    const next = sort === "-" + field ? field : "-" + field;
    return html`<button type="button" class="sort" aria-label=${`Sort by ${title}`} onClick=${() => choose({ sort: next })}>${title}${sort === field ? " ↑" : sort === "-" + field ? " ↓" : ""}</button>`;
  };
  const tools = may("operate") && any && page?.items.length > 0 && html`<${Button} does=${endAll}>End all ${number(count ?? page.items.length)}<//>`;
  return html`${captured && html`<${Capture} key=${captured.remote + captured.private} session=${captured} close=${() => capture(null)} />`}
    <${Card} id="each" title=${any ? "Sessions like that" : "Each session"} tools=${tools}>
    <${Wrong} of=${problem} />
    ${page && html`<${Table} label="Sessions" empty="There are none." columns=${["Protocol", "Host", "Through", "Peer outside", "State", { name: "Age", head: order("age", "Age") }, { name: "Idle", head: order("idle", "Idle") }, ""]}>
      ${page.items.map((session) => html`<${One} key=${session.protocol + session.private + session.remote + session.external} session=${session} choose=${choose} again=${again} capture=${capture} />`)}
    <//>`}
    ${(page?.next || cursors.length > 1) && html`<p class="row pages">
      <button type="button" disabled=${cursors.length === 1} onClick=${() => setCursors(cursors.slice(0, -1))}>Back</button>
      <span>Page ${number(cursors.length)}</span>
      <button type="button" disabled=${!page?.next} onClick=${() => setCursors([...cursors, page.next])}>Next</button>
    </p>`}
  <//>`;
}

// summaries are asked for one after the other: the gateway makes one at a time.
async function summaries(filter) {
  const of = {};
  for (const [by] of groups) of[by] = await get("/v1/sessions/summary" + query({ ...filter, by, top: 8 }));
  return of;
}

function Sessions() {
  const [{ sort, ...filter }, choose] = useHere([...keys, "sort"]);
  const [of, problem] = useAsked(() => summaries(filter), keys.map((key) => filter[key]));
  useEffect(() => listen([], { status: health }), []);
  return html`<${Filters} filter=${filter} choose=${choose} />
    ${filter.address && isAddress(filter.address) && html`<${About} key=${filter.address} address=${filter.address} />`}
    <${Wrong} of=${problem} />
    <div class="groups">${groups.map(([by, title, to]) => html`<${Groups} key=${by} by=${by} title=${title} filter=${to} choose=${choose} of=${of?.[by]} />`)}</div>
    <${Page} filter=${filter} sort=${sort} choose=${choose} count=${of?.state.sessions} />`;
}

take("sessions-live", html`<${Sessions} />`);

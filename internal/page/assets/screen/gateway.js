// Gateway: what it consists of, and how full that is.
import { compact, get, health, html, listen, number, span, useEffect, useState, When } from "../page.js";
import { Card, Part, Table, take, useAsked, Wrong } from "../parts.js";

const unescape = (text) => text.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));

// read takes the samples of some metrics from what Prometheus reads.
function read(text, names) {
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (const line of text.split("\n")) {
    const [, name, labels, value] = line.match(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/) ?? [];
    if (!samples[name]) continue;
    const of = {};
    for (const [, key, text] of (labels ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) of[key] = unescape(text);
    samples[name].push({ ...of, value: Number(value) });
  }
  return samples;
}

const metrics = ["realmgate_nexthop_up", "realmgate_clock_synchronised", "realmgate_table_entries", "realmgate_table_limit", "realmgate_memory_bytes", "realmgate_ports_used", "realmgate_ports_limit"];

async function ask() {
  const [text, chains, sinks] = await Promise.all([
    fetch("/metrics", { credentials: "same-origin" }).then((r) => (r.ok ? r.text() : "")), get("/v1/chains"), get("/v1/events"),
  ]);
  const backends = chains.items.flatMap((chain) => chain.functions.flatMap((f) => (f.backends ?? []).map((b) => ({ ...b, chain: chain.name, by: f.name }))));
  return { figures: read(text, metrics), backends, sinks: sinks.items };
}

const octets = (n) => (n < 1024 ? `${n} B` : n < 1 << 20 ? `${number(n / 1024)} KiB` : `${number(n / (1 << 20))} MiB`);

function Version({ s, clock }) {
  return html`<${Card} id="version" title="Version">
    <dl class="figures three">
      <div><dt>Version</dt><dd>${s.version}</dd></div>
      <div><dt>Generation</dt><dd><a href="/configuration">${number(s.generation)}</a></dd></div>
      <div><dt>Runs since</dt><dd><${When} at=${s.started} /> <small>${span((Date.now() - new Date(s.started)) / 1000)}${s.adopted ? ", took over" : ""}</small></dd></div>
      <div><dt>Process</dt><dd>${s.pid}</dd></div>
      <div><dt>Clock</dt><dd id="clock">${clock === undefined ? "not known" : clock ? html`<span class="tag good">synchronised</span>` : html`<span class="tag bad">not synchronised</span>`}</dd></div>
      <div><dt>Memory of tables</dt><dd>${octets(s.bytes + s.chain_bytes)}</dd></div>
    </dl><//>`;
}

const Interfaces = ({ s }) => html`<${Card} id="interfaces" title="Interfaces">
  <${Table} label="Interfaces" columns=${["Interface", "Side", "Mode", "Frames reach it by", "Why"]} empty="There are none.">${s.interfaces.map(
    (i) => html`<tr key=${i.name}><td><b>${i.name}</b></td><td>${i.side}</td><td><span class=${"tag " + (i.mode === "absent" ? "bad" : "good")}>${i.mode}</span></td><td>${i.redirect ? "redirect" : "the kernel's stack"}</td><td>${i.why}</td></tr>`,
  )}<//><//>`;

function Outbound({ s, figures }) {
  const ports = (address, protocol) => {
    const one = (list) => list.find((m) => m.address === address && m.protocol === protocol)?.value ?? 0;
    return html`<${Part} used=${one(figures.realmgate_ports_used)} of=${one(figures.realmgate_ports_limit)} />`;
  };
  return html`<${Card} id="outbound" title="Outbound addresses">
    <${Table} label="Outbound addresses" columns=${["Address", "State", "TCP ports", "UDP ports", "#Hosts that leave by it"]} empty="There are none.">${s.outbound.map(
      (o) => html`<tr key=${o.address}><td><a class="address" href=${"/sessions?address=" + o.address}>${o.address}</a></td><td><span class=${"tag " + (o.state === "live" ? "good" : "")}>${o.state}</span></td>
        <td>${ports(o.address, "tcp")}</td><td>${ports(o.address, "udp")}</td><td class="n">${number(o.hosts * 100)} %</td></tr>`,
    )}<//><//>`;
}

const Hops = ({ of }) => html`<${Card} id="hops" title="Next hops">
  <${Table} label="Next hops" columns=${["Next hop", "State"]} empty="No route has one.">${of.map(
    (h) => html`<tr key=${h.gateway}><td class="address">${h.gateway}</td><td>${h.value ? html`<span class="tag good">answers</span>` : html`<span class="tag bad">does not answer</span>`}</td></tr>`,
  )}<//><//>`;

const Backends = ({ of }) => of.length > 0 && html`<${Card} id="backends" title="Backends">
  <${Table} label="Backends" columns=${["Backend", "Of", "#Weight", "State", "Since", ""]}>${of.map(
    (b) => html`<tr key=${b.chain + b.by + b.to + b.port}><td><a class="address" href=${"/sessions?address=" + b.to}>${b.to}</a>${b.port ? ":" + b.port : ""}</td><td><a href=${"/chains?chain=" + encodeURIComponent(b.chain)}>${b.chain}/${b.by}</a></td><td class="n">${b.weight}</td>
      <td><span class=${"tag " + (b.state === "up" ? "good" : b.state === "down" ? "bad" : "")}>${b.state}</span></td><td><${When} at=${b.since} /></td><td>${b.error}</td></tr>`,
  )}<//><//>`;

function Tables({ s, figures }) {
  const gauges = [["Sessions", s.sessions, "/sessions"], ["Mappings", s.mappings], ["Offers that wait", s.half_open, "/ring?use=offered"], ["Addresses of the pool in use", s.pool_addresses, "/ring"], ["Services that have one", s.pool_services, "/names", true]];
  const tables = new Map();
  const table = (name) => tables.get(name) ?? tables.set(name, { used: null, of: 0, bytes: null }).get(name);
  for (const m of figures.realmgate_table_entries) table(m.table).used = m.value;
  for (const m of figures.realmgate_table_limit) table(m.table).of = m.value;
  for (const m of figures.realmgate_memory_bytes) table(m.table).bytes = m.value;
  const rest = [...tables].sort(([, a], [, b]) => (b.bytes ?? 0) - (a.bytes ?? 0));
  return html`<${Card} id="tables" title="How full it is">
    <div class="gauges">${gauges.map(([name, g, to, calm]) => html`<div key=${name}><span>${name}</span><${Part} used=${g.used} of=${g.capacity} href=${to} calm=${calm} /></div>`)}</div>
    <details><summary>All ${number(rest.length)} tables of the data plane</summary>
    <${Table} label="Tables" columns=${["Table", "Entries", "#Memory"]} empty="They are not known.">${rest.map(
      ([name, t]) => html`<tr key=${name}><td><code>${name}</code></td><td>${t.used === null ? "–" : html`<${Part} used=${t.used} of=${t.of} />`}</td><td class="n">${t.bytes === null ? "–" : octets(t.bytes)}</td></tr>`,
    )}<//></details>
  <//>`;
}

const Sinks = ({ of }) => of.length > 0 && html`<${Card} id="sinks" title="Sinks of events">
  <${Table} label="Sinks" columns=${["Sink", "Goes to", "#Delivered", "#Lost", "#Queued", "State"]}>${of.map(
    (k) => html`<tr key=${k.name}><td><b>${k.name}</b></td><td>${k.file || k.webhook || (k.command ?? []).join(" ")}</td><td class="n">${compact(k.delivered)}</td><td class="n">${compact(k.lost)}</td><td class="n">${compact(k.queued)}</td>
      <td>${k.error ? html`<span class="tag bad">wrong</span> ${k.error}` : html`<span class="tag good">works</span>`}</td></tr>`,
  )}<//><//>`;

function Gateway() {
  const [s, setStatus] = useState(null);
  const [asked, problem] = useAsked(ask, [], 5);
  useEffect(() => listen([], { status: (status) => { health(status); setStatus(status); } }), []);
  if (!s || !asked) return html`<${Wrong} of=${problem} />`;
  const { figures } = asked;
  return html`<${Wrong} of=${problem} />
    <${Version} s=${s} clock=${figures.realmgate_clock_synchronised[0]?.value} />
    <${Interfaces} s=${s} />
    <div class="halves"><${Outbound} s=${s} figures=${figures} /><${Hops} of=${figures.realmgate_nexthop_up} /></div>
    <${Backends} of=${asked.backends} />
    <${Tables} s=${s} figures=${figures} />
    <${Sinks} of=${asked.sinks} />`;
}

take("gateway-live", html`<${Gateway} />`);

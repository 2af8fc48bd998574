// Chains: what flows go through, drawn from left to right, as thick as the traffic; the way of one that is explained is lit.
import { compact, get, health, html, here, listen, may, number, query, useEffect, useRef, useState } from "../page.js";
import { asked, explain, Verdict } from "../explained.js";
import { take, useAsked, Wrong } from "../parts.js";

const protection = "protection";

// thick is how thick a flow of packets a second is drawn: a step for each power of ten.
const thick = (rate) => (rate <= 0 ? 0 : Math.min(6, 1 + Math.max(0, Math.ceil(Math.log10(rate)))));

const Pipe = ({ rate, lit }) => html`<span class=${`pipe w${thick(rate)}${lit ? " lit" : ""}`} title=${rate > 0 ? `${compact(rate)} packets a second` : "nothing now"}></span>`;

// wayOf is what an explanation went through: names of steps, where it stopped, and what it reached.
function wayOf(x) {
  if (!x || (!x.to && !x.name && !x.reason && x.services)) return null;
  const drops = x.steps.filter(({ says }) => says === "drop" || says === "fail");
  const way = { of: new Set(), chains: new Set(), passes: x.passes, stops: x.passes ? "" : x.function || (drops.at(-1)?.step ?? ""), accepts: x.passes ? x.function : "" };
  for (const { step, says } of x.steps) {
    way.of.add(step);
    if (step === "chain") way.chains.add(says === "none" ? "" : says);
    else if (step.includes("/")) way.chains.add(step.split("/")[0]);
  }
  way.chains.delete(protection);
  way.last = [...way.chains].pop();
  if (!way.chains.size && x.passes) way.chains.add((way.last = ""));
  return way;
}

function Box({ title, of, counts, lit, stops, children }) {
  return html`<div class=${"box" + (lit ? " lit" : "") + (stops ? " stops" : "")}>
    <b>${title}</b>${of && html` <small>${of}</small>`}
    ${counts}
    ${children}
    ${stops && html`<span class="tag bad">✘ here</span>`}
  </div>`;
}

function Counts({ f, rate }) {
  return html`<dl>
    <div title="Packets that it was asked about"><dt>seen</dt><dd>${compact(f.seen)}${rate > 0 && html` <small>${compact(rate)}/s</small>`}</dd></div>
    ${f.accepted > 0 && html`<div><dt>accepted</dt><dd>${compact(f.accepted)}</dd></div>`}
    ${f.dropped > 0 && html`<div class="bad"><dt>dropped</dt><dd><a href="/drops?reason=drop_denied">${compact(f.dropped)}</a></dd></div>`}
    ${f.failed > 0 && html`<div class="bad"><dt>failed</dt><dd>${compact(f.failed)}</dd></div>`}
    <div title="What it takes on average, of one packet in 1,024"><dt>takes</dt><dd>${f.samples > 0 ? `${number(f.ns_each)} ns` : "–"}</dd></div>
  </dl>`;
}

const Backends = ({ of }) => of && html`<ul class="backends">${of.map((b) => html`<li title=${b.error ?? ""}><span class=${"tag " + (b.state === "up" ? "good" : b.state === "down" ? "bad" : "")}>${b.state}</span> ${b.to}${b.port ? ":" + b.port : ""}</li>`)}</ul>`;

const said = (match) => Object.entries(match).map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`).join(", ") || "everything";

function Lane({ chain, rates, way, wanted }) {
  const lit = way?.chains.has(chain.name);
  const end = lit && way.passes && way.last === chain.name;
  const first = chain.functions[0];
  const rateOf = (f) => rates.get(`${chain.name}/${f.name}`) ?? { seen: 0, passed: 0 };
  const out = chain.functions.length ? rateOf(chain.functions.at(-1)).passed : 0;
  const goesOut = chain.match.length > 0 && chain.match.every((m) => m.direction === "out");
  const place = useRef(null);
  useEffect(() => { if (wanted) place.current.scrollIntoView({ block: "center" }); }, [wanted]);
  return html`<li class=${"lane" + (lit ? " lit" : "") + (wanted ? " wanted" : "")} ref=${place} aria-label=${"Chain " + chain.name}>
    <${Pipe} rate=${first ? rateOf(first).seen : 0} lit=${lit} />
    <${Box} title=${html`<a href=${"/chains" + query({ chain: chain.name })}>${chain.name}</a>`} lit=${lit}>
      <ul class="match">${(chain.match.length ? chain.match : [{}]).map((m) => html`<li>${said(m)}</li>`)}</ul>
      ${chain.changes?.length > 0 && html`<p><span class="tag">changed by command</span> <small>${chain.changes.join(", ")}</small></p>`}
    <//>
    ${chain.functions.map((f) => {
      const name = `${chain.name}/${f.name}`;
      return html`<${Pipe} key=${"p" + f.name} rate=${rateOf(f).seen} lit=${lit && way.of.has(name)} />
        <${Box} key=${f.name} title=${f.name} of=${f.use === f.name ? "" : f.use} counts=${html`<${Counts} f=${f} rate=${rateOf(f).seen} />`} lit=${lit && way.of.has(name)} stops=${way?.stops === name}><${Backends} of=${f.backends} />${way?.accepts === name && html`<span class="tag good">✔ accepts</span>`}<//>`;
    })}
    <${Pipe} rate=${out} lit=${end} />
    <${Box} title=${goesOut ? "Internet" : "Host"} lit=${end}>${end && html`<span class="tag good">✔ reached</span>`}<//>
  </li>`;
}

// useRates keeps how many packets a second each function sees and lets go on, from one answer to the next.
function useRates(chains) {
  const before = useRef(null);
  const rates = useRef(new Map());
  if (chains && before.current?.chains !== chains) {
    const now = performance.now();
    const seconds = before.current ? Math.max(0.2, (now - before.current.at) / 1000) : 0;
    const counts = new Map();
    for (const chain of chains) {
      for (const f of chain.functions) {
        const name = `${chain.name}/${f.name}`;
        const old = before.current?.counts.get(name);
        counts.set(name, f);
        if (old && seconds) rates.current.set(name, { seen: Math.max(0, (f.seen - old.seen) / seconds), passed: Math.max(0, (f.seen - f.dropped - old.seen + old.dropped) / seconds) });
      }
    }
    before.current = { at: now, chains, counts };
  }
  return rates.current;
}

function Chains() {
  const [asking, problem] = useAsked(() => get("/v1/chains").then((page) => page.items), [], 2);
  const [banned, setBanned] = useState(null);
  const [explained, setExplained] = useState({});
  const rates = useRates(asking);
  const question = asked();
  useEffect(() => {
    if (question.address && may("operate")) explain(question).then((x) => setExplained({ x }), (p) => setExplained({ problem: p }));
    return listen([], { status: (status) => { health(status); setBanned(status.reasons.find((r) => r.reason === "drop_banned")?.packets ?? 0); } });
  }, []);
  if (!asking) return html`<${Wrong} of=${problem} />`;
  const { x } = explained;
  const way = wayOf(x);
  const guard = asking.find((chain) => chain.name === protection);
  const lanes = asking.filter((chain) => chain.name !== protection);
  const wanted = here().chain;
  const stopsBefore = way && !way.passes && !way.chains.size;
  return html`<${Wrong} of=${problem ?? explained.problem} />
    ${x && html`<${Verdict} of=${x} />`}
    <section class="card flow" aria-labelledby="ways">
      <div class="row head"><h2 id="ways">What a flow goes through</h2>${!x && html`<a class="button" href="/explain">Explain a flow</a>`}${x && html`<a class="button" href=${"/explain" + query(question)}>Read the steps</a>`}</div>
      <div class="ways">
        <div class=${"gate" + (wanted === protection ? " wanted" : "")}>
          <${Box} title=${html`<a href="/protection">Bans</a>`} lit=${way?.of.has("ban") || way?.chains.size > 0} stops=${way?.stops === "ban"}>
            <dl>${banned !== null && html`<div class=${banned ? "bad" : ""}><dt>dropped</dt><dd><a href="/drops?reason=drop_banned">${compact(banned)}</a></dd></div>`}</dl><//>
          ${guard?.functions.map((f) => {
            const name = `${protection}/${f.name}`;
            const rate = rates.get(name)?.seen ?? 0;
            return html`<${Pipe} key=${"p" + f.name} rate=${rate} lit=${way?.of.has(name)} />
              <${Box} key=${f.name} title=${f.name} counts=${html`<${Counts} f=${f} rate=${rate} />`} lit=${way?.of.has(name)} stops=${way?.stops === name} />`;
          })}
          ${stopsBefore && way.stops && way.stops !== "ban" && !way.stops.includes("/") && html`<p class="note"><span class="tag bad">✘ ${way.stops}</span> ${x.steps.at(-1).why}</p>`}
        </div>
        <ol class="lanes">
          ${lanes.map((chain) => html`<${Lane} key=${chain.name} chain=${chain} rates=${rates} way=${way} wanted=${wanted === chain.name} />`)}
          <li class=${"lane" + (way?.chains.has("") ? " lit" : "")} aria-label="No chain">
            <${Pipe} rate=${0} lit=${way?.chains.has("")} />
            <${Box} title="No chain" lit=${way?.chains.has("")}><p class="note">What names and NAT let through passes.</p><//>
            <${Pipe} rate=${0} lit=${way?.chains.has("") && way.passes} />
            <${Box} title="Host" lit=${way?.chains.has("") && way.passes}>${way?.chains.has("") && way.passes && html`<span class="tag good">✔ reached</span>`}<//>
          </li>
        </ol>
      </div>
      <p class="note">The first chain that matches decides, and no other. Thicker lines have more packets: ten times for each step.</p>
    </section>`;
}

take("chains-live", html`<${Chains} />`);

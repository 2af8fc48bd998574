// Configuration: what is in force, the files, what a reload would change, what was before, and how that comes back.
import { Button, When, get, health, html, listen, may, number, post, query, say, span, useEffect, useState } from "../page.js";
import { Card, Table, take, useAsked, useHere, Wrong } from "../parts.js";

const views = [["diff", "What a reload changes"], ["effective", "In force, with defaults"], ["files", "Files"], ["history", "History"]];

const put = ({ generation, hosts, confirm }) => `Generation ${number(generation)} is in force, with ${number(hosts)} ${hosts === 1 ? "host" : "hosts"}.${confirm ? " Confirm it, or it is undone." : ""}`;

// Waiting says that a reload will be undone, and lets it stay.
function Waiting({ of }) {
  if (!of) return null;
  const stay = async () => {
    const { generation } = await post("/v1/reload/confirm", undefined, of.generation);
    say(`Generation ${number(generation)} stays in force.`);
  };
  return html`<div id="unconfirmed" class="health bad row"><span>Generation ${number(of.generation)} of ${of.by} is undone in <b>${span(of.seconds)}</b>, unless it is confirmed.</span>
    ${may("operate") ? html`<${Button} class="main" does=${stay}>Confirm<//>` : html`<code>realmgate confirm</code>`}</div>`;
}

const delays = [["", "never"], ["120", "after 2 min, unless confirmed"], ["600", "after 10 min, unless confirmed"]];

const ports = (list, sign) => (list ?? []).map((port) => html`<span class="tag">${sign} ${port}</span> `);

function Diff({ of, again }) {
  const none = !of.differences.length && !of.services.length && !of.restart.length;
  const [confirm, setConfirm] = useState("");
  const reload = async () => {
    say(put(await post("/v1/reload" + query({ confirm }), undefined, of.generation)));
    again();
  };
  const tools = !none && may("operate") && html`<span class="row"><label>Undo it <select name="confirm" value=${confirm} onChange=${(e) => setConfirm(e.target.value)}>${delays.map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
    <${Button} class="main" does=${reload} disabled=${of.restart.length > 0}>Reload<//></span>`;
  return html`<${Card} id="diff" title=${none ? "The file is in force" : "The file is not in force as it is"} tools=${tools}>
    <p class="note">${of.file}, generation ${number(of.generation)}</p>
    ${of.restart.length > 0 && html`<p class="health bad"><span>Only a restart changes ${of.restart.join(", ")}: a reload is refused.</span></p>`}
    ${of.differences.length > 0 && html`<${Table} label="Differences" columns=${["Key", "In force", "In the file"]}>${of.differences.map(
      (d) => html`<tr key=${d.key}><td><code>${d.key}</code></td><td class="was">${d.was ?? "–"}</td><td class="is">${d.is ?? "–"}</td></tr>`,
    )}<//>`}
    ${of.services.length > 0 && html`<h3>Services</h3><${Table} label="Services" columns=${["Host", "Name", "Opens", "Closes", "#Sessions that end"]}>${of.services.map(
      (s) => html`<tr key=${s.name}><td>${s.host}</td><td>${s.name}</td><td>${ports(s.opens, "+")}</td><td>${ports(s.closes, "−")}</td><td class="n"><a href=${"/sessions?host=" + encodeURIComponent(s.name)}>${number(s.sessions ?? 0)}</a></td></tr>`,
    )}<//>`}
    ${of.left > 0 && html`<p class="note">${number(of.left)} more are not shown: <code>realmgate config diff</code></p>`}
  <//>`;
}

const Text = ({ title, id, text }) => html`<${Card} id=${id} title=${title}><pre tabindex="0">${text}</pre><//>`;

const hows = { reload_confirm: "reload, to be confirmed", chain_save: "chain save", unconfirmed: "reload not confirmed: back" };

// Back asks whether an earlier configuration is to come back.
function Back({ to, done }) {
  const back = async () => {
    const r = await post("/v1/config/rollback", { number: to });
    say(`${put(r)} It is the configuration of ${number(to)}.${r.kept.length ? ` Kept what it replaces: ${r.kept.join(", ")}` : ""}`);
    done();
  };
  return html`<div id="ask" class="health bad row" role="group" aria-label="Roll back"><span>Roll back to ${number(to)}? The file is written as it was then, and sessions end that it does not allow.</span>
    <${Button} class="main" does=${back}>Roll back to ${number(to)}<//><${Button} does=${() => done()}>Leave it<//></div>`;
}

function History({ chosen, look }) {
  const [asked, problem, again] = useAsked(() => get("/v1/config/history"), []);
  const [past, wrong] = useAsked(async () => chosen && { of: chosen, ...(await get("/v1/config" + query({ number: chosen }))) }, [chosen], 3600);
  const [to, setTo] = useState(0);
  if (!asked) return html`<${Wrong} of=${problem} />`;
  const entries = asked.items.toReversed();
  const done = () => {
    setTo(0);
    again();
  };
  return html`<${Wrong} of=${problem} /><${Card} id="history" title="What was in force, the latest first">
      ${to > 0 && html`<${Back} to=${to} done=${done} />`}
      <${Table} label="History" columns=${["#Number", "Since", "By", "How", "#Generation", ""]} empty="Nothing is known.">${entries.map(
        (e, i) => html`<tr key=${e.number}><td class="n">${e.number}</td><td class="short"><${When} at=${e.since} /></td><td>${e.by}</td>
          <td>${hows[e.how] ?? e.how}${e.to ? ` to ${e.to}` : ""}${e.kept?.length > 0 && html`<br /><small>kept ${e.kept.join(", ")}</small>`}</td><td class="n">${number(e.generation)}</td>
          <td class="n acts">${may("admin") && html`<${Button} does=${() => look({ number: e.number })} aria-label=${"Show " + e.number}>Show<//>`}
            ${may("admin") && i > 0 && html` <${Button} does=${() => setTo(e.number)} aria-label=${"Roll back to " + e.number}>Roll back<//>`}</td></tr>`,
      )}<//>
      <p class="note">At the gateway: <code>realmgate config history</code>, <code>realmgate config rollback NUMBER</code></p>
    <//>
    <${Wrong} of=${wrong} />
    ${past?.of === chosen && past.files.map((file, i) => html`<${Text} key=${chosen + file.file} id=${"past-" + i} title=${`${file.file} of ${chosen}`} text=${file.text} />`)}`;
}

function Configuration() {
  const [{ view, number: chosen }, look] = useHere(["view", "number"]);
  const [waiting, setWaiting] = useState(null);
  const [shown, setShown] = useState({});
  const wanted = view || "diff";
  const ask = () => wanted !== "history" &&
    get(wanted === "diff" ? "/v1/config/diff" : "/v1/config").then((value) => setShown({ of: wanted, value }), (problem) => setShown({ of: wanted, problem }));
  useEffect(() => { if (may("admin")) ask(); }, [wanted]);
  useEffect(() => listen([], { status: (status) => { health(status); setWaiting(status.unconfirmed); } }), []);
  const history = html`<${History} chosen=${may("admin") && chosen} look=${look} />`;
  if (!may("admin")) {
    return html`<${Waiting} of=${waiting} /><${Card} id="diff" title="Configuration"><p>The configuration has secrets: to read it takes the role admin.</p>
      ${may("operate") && html`<${Button} does=${() => post("/v1/reload").then((r) => say(put(r)))}>Reload<//>`}<//>
      ${history}`;
  }
  const { value, problem } = shown.of === wanted ? shown : {};
  return html`<${Waiting} of=${waiting} /><nav class="views" aria-label="Views">${views.map(
      ([name, title]) => html`<a href=${"?view=" + name} aria-current=${name === wanted ? "page" : undefined} onClick=${(e) => { e.preventDefault(); look({ view: name, number: "" }); }}>${title}</a>`,
    )}</nav>
    <${Wrong} of=${problem} />
    ${value && wanted === "diff" && html`<${Diff} of=${value} again=${ask} />`}
    ${value && wanted === "effective" && html`<${Text} id="effective" title=${`Generation ${number(value.generation)}`} text=${value.effective} />`}
    ${value && wanted === "files" && value.files.map((file, i) => html`<${Text} key=${file.file} id=${"file-" + i} title=${file.file} text=${file.text} />`)}
    ${wanted === "history" && history}`;
}

take("configuration-live", html`<${Configuration} />`);

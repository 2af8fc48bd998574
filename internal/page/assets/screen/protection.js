// Protection: who is kept away, why, until when, and how somebody is let in again.
import { Address, Button, compact, get, health, html, listen, may, number, post, query, say, span, useEffect, useState, When } from "../page.js";
import { all, alone, covers, isAddress, keepOut, Left, letIn } from "../bans.js";
import { calmly, Card, Table, take, useAsked, useHere, Wrong } from "../parts.js";

const most = 200; // rows
const ago = (time) => (time ? span(Math.max(0, (Date.now() - new Date(time)) / 1000)) + " ago" : "never");

// because is why somebody is banned.
const because = (ban) => (ban.reason === "manual" ? "by hand" : ban.reason ? `by ${ban.reason}` : "by nobody knows whom");

function Bans({ bans, address, look, again }) {
  const wanted = address.trim();
  const found = bans.items.filter((ban) => !wanted || (isAddress(wanted) ? covers(ban.prefix, wanted) : ban.prefix.includes(wanted) || ban.reason.includes(wanted)));
  const shown = found.slice(0, most);
  const whom = wanted && isAddress(wanted);
  const holds = found.find((ban) => !ban.exempt || ban.exempt.startsWith("in part"));
  const search = html`<label class="find"><span class="sr">Find a ban</span><input type="search" placeholder="Address or reason  /" value=${address} onInput=${(e) => look(e.target.value)} /></label>`;
  return html`<${Card} id="bans" title=${`Bans: ${number(bans.items.length)}${bans.next ? " and more" : ""}`} tools=${search}>
    ${whom && holds && html`<p id="why"><b>${wanted}</b> is refused. It is banned ${because(holds)}, for ${holds.until ? html`another <${Left} of=${holds} />` : "ever"}. ${may("operate") ? "Unban it to let it in again." : html`At the gateway, <code>realmgate ban remove ${holds.prefix}</code> lets it in again.`}</p>`}
    ${whom && found.length > 0 && !holds && html`<p>${wanted} is banned, and let in all the same: ${found[0].exempt}.</p>`}
    ${whom && found.length === 0 && html`<p>${wanted} is not banned. ${may("operate") && html`<a href=${"/explain" + query({ address: wanted })}>Explain what else may refuse it</a>`}</p>`}
    <${Table} label="Bans" columns=${["Who", "Why", "#Offence", "Since", "Time left", ""]} empty=${wanted ? "No ban is like that." : "Nobody is banned."}>
      ${shown.map(
        (ban) => html`<tr key=${ban.prefix}>
          <td class="short">${isAddress(alone(ban.prefix)) ? html`<${Address} of=${alone(ban.prefix)} />` : html`<span class="address">${ban.prefix}</span>`}</td>
          <td>${ban.reason === "manual" ? "manual: by hand" : ban.reason || "–"}${ban.exempt && html`<br /><small>not in force: ${ban.exempt}</small>`}</td>
          <td class="n">${ban.offence || "–"}</td>
          <td class="short"><${When} at=${ban.since} /></td>
          <td class="short"><${Left} of=${ban} /></td>
          <td class="n">${may("operate")
            ? html`<${Button} does=${() => letIn(ban, again)} aria-label=${"Unban " + alone(ban.prefix)}>Unban<//>`
            : html`<code title="Who has the role operate may do it here">realmgate ban remove ${ban.prefix}</code>`}</td>
        </tr>`,
      )}
    <//>
    ${found.length > shown.length && html`<p class="note">${number(found.length - shown.length)} more are not shown: look for an address or a reason.</p>`}
    ${may("operate") && html`<${NewBan} again=${again} />`}
  <//>`;
}

const lengths = [[3600, "an hour"], [86400, "a day"], [604800, "a week"], [0, "ever"]];

function NewBan({ again }) {
  const [whom, setWhom] = useState("");
  const [seconds, setSeconds] = useState("86400");
  const add = async () => {
    await keepOut(whom.trim(), Number(seconds), again);
    setWhom("");
  };
  return html`<form class="row new" onSubmit=${(e) => { e.preventDefault(); e.target.querySelector("button").click(); }}>
    <label>Ban <input name="whom" required placeholder="203.0.113.7" value=${whom} onInput=${(e) => setWhom(e.target.value)} /></label>
    <label>for <select value=${seconds} onChange=${(e) => setSeconds(e.target.value)}>${lengths.map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
    <${Button} does=${add} disabled=${!whom.trim()}>Ban<//>
  </form>`;
}

function Lists({ lists, again }) {
  const refresh = (name) => async () => {
    await post("/v1/lists/refresh", { lists: [name] });
    say(`${name} is fetched now.`);
    setTimeout(again, 1000);
  };
  return html`<${Card} id="lists" title="Lists">
    <${Table} label="Lists" columns=${["List", "#Entries", "Age", "Next", "State", ""]} empty="No list is fetched.">
      ${lists.map(
        (list) => html`<tr key=${list.name}>
          <td><b>${list.name}</b><br /><small>${list.source}</small></td>
          <td class="n">${number(list.entries)}${list.left_out > 0 && html`<br /><small>${number(list.left_out)} unreadable</small>`}</td>
          <td class="short" title=${list.checked ?? ""}>${ago(list.checked)}</td>
          <td class="short">${list.next ? html`<${When} at=${list.next} />` : "now"}</td>
          <td>${list.error ? html`<span class="tag bad">${list.failures > 1 ? `failed ${number(list.failures)} times` : "failed"}</span> ${list.error}` : html`<span class="tag good">in force</span>`}</td>
          <td class="n">${may("operate") && html`<${Button} does=${refresh(list.name)} aria-label=${"Refresh " + list.name}>Refresh<//>`}</td>
        </tr>`,
      )}
    <//>
  <//>`;
}

const Jails = ({ jails, look }) => html`<${Card} id="jails" title="Jails">
  <${Table} label="Jails" columns=${["Jail", "#Lines", "#Failures", "#Offences", "State"]} empty="No log is watched.">
    ${jails.map(
      (jail) => html`<tr key=${jail.name}>
        <td><b>${jail.name}</b><br /><small>${jail.file || (jail.command ?? []).join(" ")}</small></td>
        <td class="n">${number(jail.lines)}</td>
        <td class="n">${number(jail.failures)}</td>
        <td class="n"><a href=${"?address=" + encodeURIComponent("jail " + jail.name)} onClick=${(e) => { e.preventDefault(); look("jail " + jail.name); }}>${number(jail.offences)}</a></td>
        <td>${jail.error ? html`<span class="tag bad">wrong</span> ${jail.error}` : html`<span class="tag good">reads</span>`}${jail.stderr && html`<br /><small>says: ${jail.stderr}</small>`}</td>
      </tr>`,
    )}
  <//>
<//>`;

function Honeypot({ chains, reasons, bans, look }) {
  const there = chains.some((chain) => chain.name === "protection" && chain.functions.some((f) => f.name === "honeypot"));
  const count = (name) => reasons?.find((r) => r.reason === name)?.packets ?? 0;
  const caught = bans.filter((ban) => ban.reason.startsWith("honeypot")).length;
  return html`<${Card} id="honeypot" title="Honeypot">
    ${there
      ? html`<dl class="figures three">
          <div><dt>Banned by it now</dt><dd><a href="?address=honeypot" onClick=${(e) => { e.preventDefault(); look("honeypot"); }}>${number(caught)}</a></dd></div>
          <div><dt>Handshakes begun</dt><dd><a href="/drops?reason=answered_honeypot">${compact(count("answered_honeypot"))}</a></dd></div>
          <div><dt>Packets dropped</dt><dd><a href="/drops?reason=drop_honeypot">${compact(count("drop_honeypot"))}</a></dd></div>
        </dl>`
      : html`<p class="note">There is none. Ports that nobody needs, <code>protection: {honeypot: {tcp: [23]}}</code>, catch who tries them.</p>`}
  <//>`;
}

const ask = () =>
  Promise.all([all(), get("/v1/lists"), get("/v1/jails"), get("/v1/chains")]).then(([bans, lists, jails, chains]) => ({
    bans, lists: lists.items, jails: jails.items, chains: chains.items,
  }));

function Protection() {
  const [{ address }, look] = useHere(["address"]);
  const [asked, problem, again] = useAsked(ask, []);
  const [reasons, setReasons] = useState(null);
  useEffect(() => listen(["bans"], { bans: calmly(again), status: (status) => { health(status); setReasons(status.reasons); } }), []);
  const find = (text) => look({ address: text });
  if (!asked) return html`<${Wrong} of=${problem} />`;
  return html`<${Wrong} of=${problem} />
    <${Bans} bans=${asked.bans} address=${address} look=${find} again=${again} />
    <${Lists} lists=${asked.lists} again=${again} />
    <${Jails} jails=${asked.jails} look=${find} />
    <${Honeypot} chains=${asked.chains} reasons=${reasons} bans=${asked.bans.items} look=${find} />`;
}

take("protection-live", html`<${Protection} />`);

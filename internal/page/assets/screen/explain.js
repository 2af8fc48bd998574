// Explain: what would decide about a new flow, step by step. The address of the page holds the question.
import { Button, go, health, html, listen, may, query, tell, useEffect, useState } from "../page.js";
import { all, alone, covers, Left, letIn } from "../bans.js";
import { asked, because, explain, keys, Verdict } from "../explained.js";
import { Card, Table, take, Wrong } from "../parts.js";

const fields = [
  ["address", "From", "203.0.113.7", "Who begins the flow"],
  ["to", "To", "www.hosta.foo.example", "A name or an address; nothing: every service"],
  ["protocol", "Protocol", "tcp", "Nothing: the service's"],
  ["port", "Port", "80", "Nothing: the service's"],
  ["name", "Says the name", "shop.foo.example", "SNI or Host, at a web address"],
];

function Form({ question, ask }) {
  const [values, setValues] = useState(question);
  const submit = (event) => {
    event.preventDefault();
    ask(Object.fromEntries(keys.map((key) => [key, (values[key] ?? "").trim()])));
  };
  return html`<form class="fields" role="search" onSubmit=${submit}>
    ${fields.map(([key, title, example, means]) => html`<label title=${means}>${title}
      <input name=${key} type=${key === "address" ? "search" : "text"} required=${key === "address"} placeholder=${example} value=${values[key]} disabled=${!may("operate")}
        list=${key === "protocol" ? "protocols" : undefined} onInput=${(e) => setValues({ ...values, [key]: e.target.value })} />
      <small>${means}</small></label>`)}
    <datalist id="protocols"><option value="tcp"></option><option value="udp"></option><option value="icmp"></option></datalist>
    <button class="main" disabled=${!may("operate")}>Explain</button>
  </form>`;
}

const signs = { continue: "↓", lend: "↓", accept: "✔", connect: "✔", answer: "↓", jump: "↷", drop: "✘", fail: "✘" };

// Where a step can be looked at.
function place(step, x) {
  if (step.step === "ban") return "/protection" + query({ address: x.from });
  if (step.step === "pool" || step.step === "claim" || step.step === "binding") return "/ring";
  if (step.step === "session") return "/sessions" + query({ address: x.from });
  if (step.step === "chain" && step.says !== "none") return "/chains" + query({ chain: step.says });
  if (step.step.includes("/")) return "/chains" + query({ chain: step.step.split("/")[0] });
  return "";
}

function Steps({ of }) {
  return html`<ol class="steps">${of.steps.map((step, i) => {
    const stops = step.says === "drop" || step.says === "fail";
    const to = place(step, of);
    return html`<li class=${stops ? "stops" : ""} key=${i}>
      <span class="sign" aria-hidden="true">${signs[step.says] ?? "↓"}</span>
      <div class="step"><span><b>${to ? html`<a href=${to}>${step.step}</a>` : step.step}</b> <span class=${"tag" + (stops ? " bad" : "")}>${step.says}</span></span><span>${step.why}</span></div></li>`;
  })}</ol>`;
}

// Remedy is how who is refused gets in.
function Remedy({ x, ban, again }) {
  if (x.passes && x.reason !== "drop_banned") return null;
  if (ban) {
    return html`<div id="remedy" class="remedy"><p><b>To let it in again</b>, end the ban of ${alone(ban.prefix)}: ${ban.reason || "nobody noted why"}, time left <${Left} of=${ban} />.</p>
      ${may("operate") && html`<${Button} class="main" does=${() => letIn(ban, again)}>Unban<//>`} <code>realmgate ban remove ${ban.prefix}</code></div>`;
  }
  if (!x.function) return null;
  const [chain] = x.function.split("/");
  return html`<div id="remedy" class="remedy"><p><b>To let it in</b>, change ${x.function}: <a href=${"/chains" + query({ chain })}>what it does</a>.
    ${chain === "protection" ? html` What the allowlist of the <a href="/configuration">configuration</a> has passes it.` : html` It is in the <a href="/configuration">configuration</a>.`}</p></div>`;
}

function Services({ x }) {
  if (!x.services) return null;
  return html`<${Table} label="Services" columns=${["Service", "Port", "Would", "By"]} empty="There is no service.">${x.services.map(
    (s) => html`<tr key=${s.name + s.protocol + s.port}><td><a href=${query({ address: x.from, to: s.name, protocol: s.protocol, port: s.port || "" })}>${s.name}</a></td>
      <td class="short">${s.protocol}${s.port ? " " + s.port : ""}</td><td><span class=${"tag " + (s.passes ? "good" : "bad")}>${s.passes ? "pass" : "be dropped"}</span></td><td>${because(s)}</td></tr>`,
  )}<//>`;
}

// command is what asks the same at the gateway.
const command = (question) => ["realmgate explain", question.address, ...keys.slice(1).filter((key) => question[key]).map((key) => `--${key} ${question[key]}`)].join(" ");

function Explain() {
  const [question, setQuestion] = useState(asked());
  const [answer, setAnswer] = useState({});
  const ask = async (wanted) => {
    if (!wanted.address || !may("operate")) return;
    go(wanted);
    setQuestion(wanted);
    try {
      const x = await explain(wanted);
      const bans = x.reason === "drop_banned" || x.steps.some((step) => step.step === "ban" && step.says === "drop") ? (await all()).items : [];
      const [from, to] = [x.from, wanted.to];
      setAnswer({ x, ban: bans.find((ban) => covers(ban.prefix, from) || covers(ban.prefix, to)) });
    } catch (problem) {
      setAnswer({ problem });
    }
  };
  useEffect(() => {
    ask(question);
    return listen([], { status: health });
  }, []);
  const again = () => ask(question).catch(tell);
  const { x, problem, ban } = answer;
  return html`<${Card} id="question" title="What would become of a flow?">
      <${Form} question=${question} ask=${ask} />
      ${!may("operate") && html`<p class="note">This takes the role operate. Log in by a token that has it, or ask somebody who does.</p>`}
    <//>
    <div id="answer" aria-live="polite" class="pile"><${Wrong} of=${problem} />
    ${x && html`<${Card} id="steps" title="The answer" tools=${html`<a class="button" href=${"/chains" + query(question)}>Show its way</a>`}>
      <${Verdict} of=${x} />
      <${Remedy} x=${x} ban=${ban} again=${again} />
      <${Steps} of=${x} />
      <${Services} x=${x} />
      <p class="note">At the gateway: <code>${command(question)}</code></p>
    <//>`}</div>`;
}

take("explain-live", html`<${Explain} />`);

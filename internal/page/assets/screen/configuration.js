// Configuration: what is in force, the files, and what a reload would change.
import { Button, get, health, html, listen, may, number, post, say, tell, useEffect, useState } from "../page.js";
import { Card, Table, take, useHere, Wrong } from "../parts.js";

const views = [["diff", "What a reload changes"], ["effective", "In force, with defaults"], ["files", "Files"]];

const ports = (list, sign) => (list ?? []).map((port) => html`<span class="tag">${sign} ${port}</span> `);

function Diff({ of, again }) {
  const none = !of.differences.length && !of.services.length && !of.restart.length;
  const reload = async () => {
    const { generation, hosts } = await post("/v1/reload", undefined, of.generation);
    say(`Generation ${number(generation)} is in force, with ${number(hosts)} ${hosts === 1 ? "host" : "hosts"}.`);
    again();
  };
  const tools = !none && may("operate") && html`<${Button} class="main" does=${reload} disabled=${of.restart.length > 0}>Reload<//>`;
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

function Configuration() {
  const [{ view }, look] = useHere(["view"]);
  const [shown, setShown] = useState({});
  const wanted = view || "diff";
  const ask = () =>
    get(wanted === "diff" ? "/v1/config/diff" : "/v1/config").then((value) => setShown({ of: wanted, value }), (problem) => setShown({ of: wanted, problem }));
  useEffect(() => { if (may("admin")) ask(); }, [wanted]);
  useEffect(() => listen([], { status: health }), []);
  if (!may("admin")) {
    return html`<${Card} id="diff" title="Configuration"><p>The configuration has secrets: to read it takes the role admin.</p>
      ${may("operate") && html`<${Button} does=${() => post("/v1/reload").then((r) => say(`Generation ${number(r.generation)} is in force.`)).catch(tell)}>Reload<//>`}<//>`;
  }
  const { value, problem } = shown.of === wanted ? shown : {};
  return html`<nav class="views" aria-label="Views">${views.map(
      ([name, title]) => html`<a href=${"?view=" + name} aria-current=${name === wanted ? "page" : undefined} onClick=${(e) => { e.preventDefault(); look({ view: name }); }}>${title}</a>`,
    )}</nav>
    <${Wrong} of=${problem} />
    ${value && wanted === "diff" && html`<${Diff} of=${value} again=${ask} />`}
    ${value && wanted === "effective" && html`<${Text} id="effective" title=${`Generation ${number(value.generation)}`} text=${value.effective} />`}
    ${value && wanted === "files" && value.files.map((file, i) => html`<${Text} key=${file.file} id=${"file-" + i} title=${file.file} text=${file.text} />`)}`;
}

take("configuration-live", html`<${Configuration} />`);

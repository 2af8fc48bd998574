// A capture of one session, as the functions mirror of chains copy packets, in a file that Wireshark reads.
import { Button, compact, get, html, number, query, useEffect, useRef, useState } from "./page.js";
import { Card } from "./parts.js";

const mostPackets = 10000;
const mostBytes = 16 << 20;

// file is packets in the pcap format with times in nanoseconds.
function file(packets) {
  const header = new DataView(new ArrayBuffer(24));
  header.setUint32(0, 0xa1b23c4d, true);
  header.setUint16(4, 2, true);
  header.setUint16(6, 4, true);
  header.setUint32(16, 65535, true);
  header.setUint32(20, 1, true); // Ethernet
  const parts = [header];
  for (const packet of packets) {
    const record = new DataView(new ArrayBuffer(16));
    const [seconds, nanoseconds] = [Math.floor(Date.parse(packet.time) / 1000), Number((packet.time.match(/\.(\d+)/)?.[1] ?? "0").padEnd(9, "0"))];
    [seconds, nanoseconds, packet.data.length, packet.length].forEach((value, i) => record.setUint32(4 * i, value, true));
    parts.push(record, packet.data);
  }
  return new Blob(parts, { type: "application/vnd.tcpdump.pcap" });
}

// lines calls visit with each line that the API streams, until the signal says to stop.
async function lines(path, signal, visit) {
  const response = await fetch(path, { signal, credentials: "same-origin", headers: { Accept: "application/x-ndjson" } });
  if (!response.ok) throw new Error((await response.json()).detail);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop();
    for (const line of whole) if (line) visit(JSON.parse(line));
  }
}

// Capture takes what is copied of a session, until it is closed.
export function Capture({ session, close }) {
  const packets = useRef([]);
  const [said, say] = useState({ count: 0, bytes: 0, wrong: "", chains: null });
  useEffect(() => {
    const stop = new AbortController();
    const ends = [session.private, session.remote];
    let bytes = 0;
    const note = (more) => say((before) => ({ ...before, ...more }));
    const take = (packet) => {
      if (packet.error) throw new Error(packet.error.detail);
      if (packet.tuple.protocol !== session.protocol || !ends.includes(packet.tuple.source) || !ends.includes(packet.tuple.destination)) return;
      packet.data = Uint8Array.from(atob(packet.data), (c) => c.charCodeAt(0));
      packets.current.push(packet);
      bytes += packet.data.length;
      note({ count: packets.current.length, bytes });
      if (packets.current.length >= mostPackets || bytes >= mostBytes) stop.abort();
    };
    get("/v1/chains").then((all) => {
      const chains = all.items.filter((chain) => chain.functions.some((f) => f.use === "mirror")).map((chain) => chain.name);
      note({ chains });
      for (const chain of chains.slice(0, 3)) {
        lines("/v1/capture" + query({ chain }), stop.signal, take).catch((problem) => problem.name !== "AbortError" && note({ wrong: problem.message }));
      }
    }, (problem) => note({ wrong: problem.message }));
    return () => stop.abort();
  }, []);
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file(packets.current));
    link.download = "session.pcap";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const tools = html`<span class="row"><${Button} does=${save} disabled=${said.count === 0}>Save<//><button type="button" onClick=${close}>Close</button></span>`;
  return html`<${Card} id="capture" title=${`Capture of ${session.protocol} ${session.private} ↔ ${session.remote}`} tools=${tools}>
    <p role="status">${said.chains?.length === 0
      ? html`No chain copies packets. Put a function <code>mirror</code> into the chain of these flows: <code>realmgate chain insert CHAIN '${"{use: mirror}"}'</code>.`
      : `${number(said.count)} packets so far, ${compact(said.bytes)} octets.`}</p>
    ${said.wrong && html`<p class="health bad">${said.wrong}</p>`}
  <//>`;
}

// Bans: which there are, whom they keep away, and how one is let in again.
import { get, html, post, query, say, span, tell } from "./page.js";

const most = 10000;

// all are the bans in force, those that began last first, as many as are looked through.
export const all = () => get("/v1/bans" + query({ sort: "-since", limit: most }));

// bits are those of an address, null where it is none.
function bits(address) {
  if (/^\d+(\.\d+){3}$/.test(address)) return address.split(".").map((octet) => Number(octet).toString(2).padStart(8, "0")).join("");
  const [left, right, more] = address.toLowerCase().split("::");
  if (more !== undefined || !/^[0-9a-f:]*:[0-9a-f:]*$/.test(address.toLowerCase())) return null;
  const groups = (text) => (text ? text.split(":") : []);
  const before = groups(left);
  const after = groups(right);
  if (right === undefined ? before.length !== 8 : before.length + after.length > 7) return null;
  return [...before, ...Array(8 - before.length - after.length).fill("0"), ...after].map((group) => parseInt(group, 16).toString(2).padStart(16, "0")).join("");
}

// covers reports whether a prefix has an address.
export function covers(prefix, address) {
  const [of, length] = prefix.split("/");
  const [network, one] = [bits(of), bits(address)];
  return network !== null && one !== null && network.length === one.length && one.startsWith(network.slice(0, Number(length)));
}

// isAddress reports whether a text is an address of IPv4 or IPv6.
export const isAddress = (text) => bits(text) !== null;

// alone writes the prefix of one address as that address.
export const alone = (prefix) => prefix.replace(/^([^:]*)\/32$/, "$1").replace(/^(.*:.*)\/128$/, "$1");

// whole is the prefix of an address alone.
const whole = (address) => (address.includes("/") ? address : address + (address.includes(":") ? "/128" : "/32"));

// left is for how long a ban still holds, in seconds; 0: for ever.
const left = (ban) => (ban.until ? Math.max(1, (new Date(ban.until) - Date.now()) / 1000) : 0);

// letIn ends a ban, and has it in force again where that is taken back within ten seconds.
export async function letIn(ban, done) {
  const name = alone(ban.prefix);
  const change = await post("/v1/bans/remove", { prefixes: [ban.prefix] });
  const again = async () => {
    const seconds = left(ban);
    await post("/v1/bans/add", { prefixes: [ban.prefix], seconds });
    say(`${name} is banned again${seconds ? ` for ${span(seconds)}` : ""}.`);
    done?.();
  };
  say(ended(name, change), "Undo", () => again().catch(tell));
  done?.();
}

// ended says what the end of a ban comes to: where a wider one holds, nobody is let in.
function ended(name, change) {
  const wider = change.wider ?? [];
  return wider.length ? `${name} is still kept away by the ban of ${wider.map(alone).join(", ")}.` : `${name} is let in again.`;
}

// holds says how long a ban holds that was asked for once more, or inside which another was.
const holds = (ban) => `the ban of ${alone(ban.prefix)} holds ${ban.until ? `for ${span(left(ban))}` : "for ever"}`;

// keepOut bans an address or a prefix for some seconds, and takes that back within ten. A ban that holds for longer stays.
export async function keepOut(address, seconds, done) {
  const prefix = whole(address);
  const change = await post("/v1/bans/add", { prefixes: [prefix], seconds });
  const [longer] = change.longer ?? [];
  if (change.prefixes === 0 && longer) {
    say(`${alone(prefix)} stays banned: ${holds(longer)}.`);
    done?.();
    return;
  }
  const back = async () => {
    say(ended(alone(prefix), await post("/v1/bans/remove", { prefixes: [prefix] })));
    done?.();
  };
  say(`${alone(prefix)} is banned${seconds ? ` for ${span(seconds)}` : ""}${longer ? `, and ${holds(longer)}` : ""}.`, "Undo", () => back().catch(tell));
  done?.();
}

// Left says when a ban ends.
export const Left = ({ of }) => (of.until ? html`<span title=${new Date(of.until).toISOString()}>${span(left(of))}</span>` : html`<span>for ever</span>`);

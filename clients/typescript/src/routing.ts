/**
 * Whose memory a request concerns: a router that goes by it sends one owner's calls to one node, whose views are warm.
 *
 * Any node answers any call all the same, so a request that names no owner, or several, goes without.
 */

const OWNER_KEY = "hbus-owner";

const USERS = new Set(["user", "forUser"]);
const NAMES = new Set(["namespace", "namespaces", "name", "memory", "task", "skill", "retrieved"]);
const PARTS = new Set(["memory", "write", "writes", "search"]);

/** `scope:owner` of what a message names first, percent-encoded; empty where it names nobody. */
function ownerOf(message: object): string {
  for (const [field, value] of Object.entries(message)) {
    const owner = ownerIn(field, value);
    if (owner !== "") return owner;
  }
  return "";
}

/** The header that tells a router the owner; none where there is no owner. */
export function ownerHeaders(message: object): Record<string, string> {
  const owner = ownerOf(message);
  return owner === "" ? {} : { [OWNER_KEY]: owner };
}

function ownerIn(field: string, value: unknown): string {
  if (typeof value === "string") return ownerNamed(field, value);
  if (Array.isArray(value)) return NAMES.has(field) || PARTS.has(field) ? ownerIn(field, value[0]) : "";
  return typeof value === "object" && value !== null && PARTS.has(field) ? ownerOf(value) : "";
}

function ownerNamed(field: string, text: string): string {
  if (text === "") return "";
  if (USERS.has(field)) return encoded(`user:${text}`);
  if (!NAMES.has(field)) return "";
  const [scope = "", owner = ""] = (text.replace(/^namespaces\//, "").split("/")[0] ?? "").split(":");
  return owner === "" || scope === "*" || owner === "*" ? "" : encoded(`${scope}:${owner}`);
}

function encoded(owner: string): string {
  return encodeURIComponent(owner).replaceAll("%40", "@").replaceAll("%3A", ":");
}

// Where the visitor is: the agent class and the room, both kept in the address bar, so that a second tab, a reload and the Back button
// find the same conversation.
import { useSyncExternalStore } from "react";

export interface Place {
  /** Class from `?agent=`; null leaves the choice to the node. */
  agent: string | null;
  room: string;
}

function roomFrom(url: URL): string | null {
  const room = url.searchParams.get("room") ?? decodeHash(url.hash);
  // Dot segments would be resolved away by the URL parser and lead to another route.
  return room === "" || room === "." || room === ".." ? null : room;
}

function decodeHash(hash: string): string {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return hash.slice(1);
  }
}

/** 12 characters of 32: enough that nobody meets another's room by chance, short enough to read out. */
function newRoom(): string {
  const alphabet = "abcdefghijkmnpqrstuvwxyz23456789";
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => alphabet[byte % 32]).join("");
}

function withRoom(room: string): URL {
  const url = new URL(location.href);
  url.hash = "";
  url.searchParams.set("room", room);
  return url;
}

/** Makes sure that the address names a room. To be called once, before the first render. */
export function settleRoom(): void {
  if (roomFrom(new URL(location.href)) === null) history.replaceState(null, "", withRoom(newRoom()));
}

function go(url: URL): void {
  history.pushState(null, "", url);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function openNewRoom(): void {
  go(withRoom(newRoom()));
}

export function openAgent(agent: string): void {
  const url = withRoom(newRoom());
  url.searchParams.set("agent", agent);
  go(url);
}

function subscribe(changed: () => void): () => void {
  const onChange = () => {
    settleRoom();
    changed();
  };
  addEventListener("popstate", onChange);
  addEventListener("hashchange", onChange);
  return () => {
    removeEventListener("popstate", onChange);
    removeEventListener("hashchange", onChange);
  };
}

export function usePlace(): Place {
  const url = new URL(useSyncExternalStore(subscribe, () => location.href));
  return { agent: url.searchParams.get("agent"), room: roomFrom(url) ?? "default" };
}

// This process is one browser: a page, its sockets and requests, and the unmodified hooks.
import { register } from "node:module";
import { Window } from "happy-dom";
import { WebSocket } from "ws";

/** The major version of the AI SDK below the hooks. */
export const ai = process.env.AI === "6" ? 6 : 7;
if (ai === 6) register("./ai6.mjs", import.meta.url);

const window = new Window({ url: "http://page.test/" });
Object.assign(globalThis, { window, document: window.document, HTMLElement: window.HTMLElement, Node: window.Node });

/** Whoever wants to know of each request: ({url, init, status}) => void. */
export const requestListeners = new Set();
globalThis.fetch = async (url, init) => {
  const response = await window.fetch(url, init); // has the page's origin, cookies, and the rules of CORS
  for (const tell of requestListeners) tell({ url: String(url), init, status: response.status });
  return response;
};

/** Each warning of the hooks, as a string. */
export const warnings = [];
console.warn = (...args) => warnings.push(args.map(String).join(" "));
console.error = console.warn;

/** From now on the page comes from this host; cookies of before are gone. */
export function visit(host) {
  window.happyDOM.setURL(`http://${host}/`);
}

export function setCookie(cookie) {
  window.document.cookie = cookie;
}

/**
 * A WebSocket class whose sockets tell what they do: tell(direction, frame), direction "in", "out", "open" or "close".
 * While network.down none can be made.
 */
export function spyingWebSocket(sockets, network, tell) {
  return class extends WebSocket {
    constructor(url, protocols) {
      if (network.down) url = "ws://127.0.0.1:1/"; // nobody listens there
      // As in a browser, each message is a task of its own.
      super(url, protocols, { allowSynchronousEvents: false, origin: window.location.origin });
      if (!network.down) sockets.push(this);
      this.on("open", () => tell("open", { url: String(url) }));
      this.on("close", (code, reason) => tell("close", { code, reason: String(reason) }));
      this.on("message", (data) => tell("in", parse(String(data))));
    }
    send(data) {
      tell("out", parse(data));
      super.send(data);
    }
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const React = await import("react");
export const { createRoot } = await import("react-dom/client");
export const { useAgent } = await import("agents/react");
export const { useAgentChat, getAgentMessages } = await import("@cloudflare/ai-chat/react");
export const { lastAssistantMessageIsCompleteWithToolCalls } = await import("ai");

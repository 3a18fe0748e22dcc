// A tab: useAgent and useAgentChat, mounted; what they return and call, and the frames below them, are kept.
import { React, createRoot, requestListeners, spyingWebSocket, useAgent, useAgentChat } from "./browser.mjs";

const PATIENCE_MS = 15_000;
const AGENT_CALLBACKS = ["onOpen", "onMessage", "onClose", "onError", "onIdentity", "onMcpUpdate", "onStateUpdate", "onStateUpdateError", "onConnectionError"];
const CHAT_CALLBACKS = ["onTurnEnd", "onData", "onFinish", "onError"];

export const text = (message) => message.parts.filter((p) => p.type === "text").map((p) => p.text).join("");

export class Tab {
  /** What the hooks returned in the last render. */
  agent;
  chat;
  /** One entry for each render of useAgentChat. */
  renders = [];
  /** [{dir: "in"|"out"|"open"|"close", frame}] */
  frames = [];
  requests = [];
  /** Arguments of each call of a callback, by its name. */
  calls = Object.fromEntries([...AGENT_CALLBACKS, ...CHAT_CALLBACKS, "onChatError"].map((name) => [name, []]));
  sockets = [];
  network = { down: false };
  #waiting = new Set();
  #options;
  #rendered;
  #fences = 0;

  /**
   * @param options agent: options of useAgent; chat: options of useAgentChat, or false for none.
   * A callback among them is called besides being kept. Sockets come back after 50 ms, not 3 s.
   */
  constructor({ agent, chat = {} }) {
    this.#options = { agent, chat };
    this.webSocket = spyingWebSocket(this.sockets, this.network, (dir, frame) => {
      this.frames.push({ dir, frame });
      this.#tick();
    });
    requestListeners.add(this.#onRequest);
    this.root = createRoot(document.createElement("div"));
    this.#render();
  }

  /** Renders with other options, like a page whose state changed; resolves when it has. */
  async update({ agent = {}, chat = {} }) {
    const was = this.#options;
    this.#options = { agent: { ...was.agent, ...agent }, chat: was.chat && { ...was.chat, ...chat } };
    const options = this.#options;
    this.#render();
    await this.until("the render", () => this.#rendered === options);
  }

  close() {
    this.root.unmount();
    requestListeners.delete(this.#onRequest);
    for (const wait of this.#waiting) wait.settle(new Error("the tab was closed"));
  }

  /** Cuts the connection off, as a lost network does. */
  cut() {
    this.sockets.at(-1).terminate();
  }

  /** Cuts the connection off, and no new one comes about until end() of what is returned. */
  leave() {
    this.network.down = true;
    this.cut();
    return { end: () => (this.network.down = false) };
  }

  /** Resolves when is(tab) holds; it is asked whenever something happens. */
  until(what, is) {
    return new Promise((resolve, reject) => {
      const wait = {
        is,
        settle: (error) => {
          clearTimeout(timer);
          this.#waiting.delete(wait);
          error ? reject(error) : resolve();
        },
      };
      const timer = setTimeout(() => wait.settle(new Error(`waited ${PATIENCE_MS} ms for: ${what}\n${this.report()}`)), PATIENCE_MS);
      this.#waiting.add(wait);
      this.#tick();
    });
  }

  /** Resolves when the hooks can be used: identified, and the resume probe (if there is one) answered. */
  async ready() {
    await this.until("ready", () => this.agent?.identified && (!this.#options.chat || this.chat));
    const chat = this.#options.chat;
    if (chat && chat.resume !== false) await this.until("an answer to the probe", () => this.received("cf_agent_stream_resume_none").length || this.received("cf_agent_stream_resuming").length);
    return this;
  }

  /** Resolves when the conversation reads like this and nothing is going on. */
  async shows(...lines) {
    await this.until(`to show ${JSON.stringify(lines)}`, () => this.idle() && JSON.stringify(this.lines()) === JSON.stringify(lines));
  }

  /** Resolves when the last message reads like this and nothing is going on. */
  async answers(said) {
    await this.until(`the answer ${JSON.stringify(said)}`, () => this.idle() && this.chat.messages.at(-1)?.role === "assistant" && this.says() === said);
  }

  /** Resolves when n turns have ended, with all of them. */
  async turnEnds(n) {
    await this.until(`${n} ends of turns`, () => this.calls.onTurnEnd.length >= n);
    return this.calls.onTurnEnd.map(([event]) => event);
  }

  idle() {
    return this.chat.status === "ready" && !this.chat.isServerStreaming;
  }

  /** Resolves when all that the node had to tell this socket so far has come. Only while nothing streams. */
  async fence() {
    const probeId = `fence-${++this.#fences}`;
    this.agent.send(JSON.stringify({ type: "cf_agent_stream_resume_request", probeId }));
    await this.until(probeId, () => this.frames.some(({ dir, frame }) => dir === "in" && frame.probeId === probeId));
  }

  lines() {
    return this.chat.messages.map((m) => `${m.role}: ${text(m)}`);
  }

  /** The text of the last message. */
  says() {
    const last = this.chat.messages.at(-1);
    return last ? text(last) : "";
  }

  sent(type) {
    return this.#of("out", type);
  }

  received(type) {
    return this.#of("in", type);
  }

  /** What the requests that this tab sent carried, oldest first. */
  bodies() {
    return this.sent("cf_agent_use_chat_request").map((f) => JSON.parse(f.init.body));
  }

  report() {
    const r = this.renders.at(-1);
    const tail = this.frames.slice(-25).map(({ dir, frame }) => `  ${dir} ${JSON.stringify(frame).slice(0, 240)}`);
    return [`last render: ${JSON.stringify(r)}`, `calls: ${JSON.stringify({ ...this.calls, onMessage: undefined, onMcpUpdate: undefined }).slice(0, 600)}`, ...tail].join("\n");
  }

  #of(dir, type) {
    return this.frames.filter((f) => f.dir === dir && f.frame?.type === type).map((f) => f.frame);
  }

  #onRequest = (request) => {
    if (!request.url.includes(`/${this.#options.agent.name}/`) && !request.url.includes(`/${this.#options.agent.basePath}/`)) return;
    this.requests.push(request);
    this.#tick();
  };

  #tick() {
    setImmediate(() => {
      for (const wait of this.#waiting) {
        try {
          if (wait.is(this)) wait.settle();
        } catch (error) {
          wait.settle(error);
        }
      }
    });
  }

  #callbacks(names, own = {}, rename = {}) {
    return Object.fromEntries(
      names.map((name) => [
        name,
        (...args) => {
          this.calls[rename[name] ?? name].push(name === "onData" ? structuredClone(args) : args); // the AI SDK changes parts later
          this.#tick();
          return own[name]?.(...args);
        },
      ]),
    );
  }

  #render() {
    const tab = this;
    this.Agent ??= function Agent({ options: all }) {
      const { agent: agentOptions, chat: chatOptions } = all;
      const options = { WebSocket: tab.webSocket, minReconnectionDelay: 50, maxReconnectionDelay: 500, ...agentOptions };
      const agent = useAgent({ ...options, ...tab.#callbacks(AGENT_CALLBACKS, agentOptions) });
      tab.agent = agent;
      tab.#rendered = all;
      tab.#tick();
      return chatOptions && React.createElement(tab.Chat, { agent, chatOptions });
    };
    this.Chat ??= function Chat({ agent, chatOptions }) {
      const chat = useAgentChat({ ...chatOptions, agent, ...tab.#callbacks(CHAT_CALLBACKS, chatOptions, { onError: "onChatError" }) });
      tab.chat = chat;
      tab.renders.push(tab.#seen(chat));
      tab.#tick();
      return null;
    };
    const agent = React.createElement(this.Agent, { options: this.#options });
    this.root.render(React.createElement(React.Suspense, { fallback: null }, agent));
  }

  #seen(chat) {
    const { status, isStreaming, isServerStreaming, isRecovering, isToolContinuation } = chat;
    return { status, isStreaming, isServerStreaming, isRecovering, isToolContinuation, error: chat.error?.message, lines: this.lines() };
  }
}

// The turn that is going on, as this tab sees it: its phase, how it failed, and how to stop it.
import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";
import type { UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { SOCKET, useConnection, type Agent, type Connection } from "./connection";
import { mcpServers, type McpServer } from "./mcp";
import type { ToolActions } from "./parts/ToolPart";
import { runClientTool } from "./tools/clientTools";
import { loadTranscript } from "./transcript";

/**
 * waiting: sent, no word yet. streaming: words arrive. recovering: the node picks the turn up after an interruption.
 * interrupted: the socket broke in mid-turn; the hook attaches again by itself.
 */
export type Phase = "idle" | "waiting" | "streaming" | "recovering" | "interrupted";

export interface Turn {
  messages: UIMessage[];
  connection: Connection;
  phase: Phase;
  /** Why the last turn failed, null if it did not. */
  error: string | null;
  send: (text: string) => void;
  stop: () => void;
  regenerate: () => void;
  clear: () => void;
  tools: ToolActions;
  mcp: McpServer[];
}

/** The hook's word for a socket that closed under a running turn. It is no failure of the turn: the turn goes on and is resumed. */
const CLOSED_MID_TURN = /closed mid-stream/i;

type Chat = ReturnType<typeof useAgentChat>;

export function useTurn(agentClass: string, room: string): Turn {
  const [failure, setFailure] = useState<string | null>(null);
  const [mcp, setMcp] = useState<McpServer[]>([]);
  const agent = useAgent({ agent: agentClass, name: encodeURIComponent(room), ...SOCKET, onMcpUpdate: (told) => setMcp(mcpServers(told)) });
  const chat = useAgentChat({
    agent,
    getInitialMessages: loadTranscript,
    onToolCall: ({ toolCall, addToolOutput }) => runClientTool(toolCall, (output) => addToolOutput({ toolCallId: toolCall.toolCallId, output })),
    syncMessagesToServer: false, // the node's copy is the true one; this page never writes it from here
    // `chat.error` knows this tab's own turns only; every tab is to show how the last turn ended.
    onTurnEnd: (end) => {
      setFailure(end.outcome === "error" ? end.error || "The turn failed." : null);
      if (end.outcome !== "error") chat.clearError();
      if (end.outcome === "aborted") void reread();
    },
  });
  /**
   * This tab stops listening at the moment of a stop, while the model may say a word more before it hears of it. The node keeps that word
   * and tells every other tab; so this one asks. A refusal leaves what is shown.
   */
  const reread = async () => {
    const stored = await loadTranscript(agent).catch(() => []);
    chat.setMessages((shown) => shown.map((message) => stored.find(({ id }) => id === message.id) ?? message));
  };
  const connection = useConnection(agent);
  const cancelObserved = useObservedTurn(agent);
  const phase = phaseOf(chat, connection);
  const failed = chat.error && !CLOSED_MID_TURN.test(chat.error.message) ? chat.error.message : failure;
  const begin = () => {
    chat.clearError();
    setFailure(null);
  };
  return {
    messages: chat.messages,
    connection,
    phase,
    error: phase === "idle" && chat.messages.length > 0 ? failed : null,
    send: (text) => {
      begin();
      void chat.sendMessage({ text });
    },
    stop: () => {
      void chat.stop();
      if (chat.status === "ready") cancelObserved();
    },
    regenerate: () => {
      begin();
      void chat.regenerate();
    },
    clear: () => {
      begin();
      chat.clearHistory();
    },
    mcp,
    tools: {
      approve: ({ toolCallId, approvalId: id }, approved, reason) => {
        // The hook's frame has no room for a reason; one that has it goes ahead, and the first decision counts.
        if (reason) agent.send(JSON.stringify({ type: "cf_agent_tool_approval", toolCallId, approved, reason, autoContinue: true }));
        void chat.addToolApprovalResponse({ id, approved, reason });
      },
      answer: ({ toolCallId, toolName }, output) => chat.addToolOutput({ toolCallId, toolName, output }),
    },
  };
}

function phaseOf(chat: Chat, connection: Connection): Phase {
  if (chat.status === "error" && CLOSED_MID_TURN.test(chat.error?.message ?? "")) return "interrupted";
  if (chat.isRecovering) return "recovering";
  if (chat.isStreaming) return connection === "connected" ? "streaming" : "interrupted";
  return chat.status === "submitted" ? "waiting" : "idle";
}

/**
 * Cancels a turn that this tab only watches (another tab sent it, or the node went on with it under a new request). The hook's stop()
 * covers the turns that it attached to itself; the frame that it sends for those works from any tab.
 */
function useObservedTurn(agent: Agent): () => void {
  const running = useRef<string | null>(null);
  useEffect(() => {
    const onMessage = (event: MessageEvent) => {
      const frame = turnFrame(event.data);
      if (frame) running.current = frame.ends ? null : frame.id;
    };
    agent.addEventListener("message", onMessage);
    return () => agent.removeEventListener("message", onMessage);
  }, [agent]);
  return () => {
    if (running.current) agent.send(JSON.stringify({ type: "cf_agent_chat_request_cancel", id: running.current }));
  };
}

/** The turn that a frame speaks of, and whether it ends there; null for frames about anything else. */
function turnFrame(data: unknown): { id: string | null; ends: boolean } | null {
  if (typeof data !== "string") return null;
  // Most frames are long: look before parsing.
  if (!data.includes('"cf_agent_use_chat_response"') && !data.includes('"cf_agent_chat_recovering"')) return null;
  const frame = JSON.parse(data) as { type?: string; id?: string; done?: boolean; error?: boolean; recovering?: boolean };
  switch (frame.type) {
    case "cf_agent_use_chat_response":
      return { id: frame.id ?? null, ends: Boolean(frame.done || frame.error) };
    case "cf_agent_chat_recovering":
      return { id: frame.id ?? null, ends: !frame.recovering };
    default:
      return null;
  }
}

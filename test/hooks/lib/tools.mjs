// What tests of tools have in common: the page's tools, and a tab that answers calls.

/** A tool of the page's own, for the option `tools`. */
export const pageTool = (description = "x") => ({ description, parameters: { type: "object", properties: {} }, execute: async () => ({}) });

/** The parts of calls in a message, the last one if none is given. */
export const callParts = (message) => message.parts.filter((p) => p.toolCallId);

/** The last message's call: state and outcome. */
export function lastCall(tab, id) {
  const part = callParts(tab.chat.messages.at(-1) ?? { parts: [] }).find((p) => !id || p.toolCallId === id);
  return part && { state: part.state, output: part.output, errorText: part.errorText, approved: part.approval?.approved };
}

/** Resolves when the last message has a call in this state and nothing is going on. */
export async function callIs(tab, state, id) {
  await tab.until(`a call in state ${state}`, () => tab.chat.status === "ready" && lastCall(tab, id)?.state === state);
  return callParts(tab.chat.messages.at(-1)).find((p) => !id || p.toolCallId === id);
}

/**
 * Options of useAgentChat for a page with getLocation and getTimezone, and the calls that its onToolCall got. outcome is what addToolOutput gets
 * besides the id; null: nothing is answered.
 */
export function answering(outcome = { output: { city: "Oslo" } }, more = {}) {
  const got = [];
  const onToolCall = ({ toolCall, addToolOutput }) => {
    got.push(toolCall);
    if (outcome) addToolOutput({ toolCallId: toolCall.toolCallId, ...outcome });
  };
  return { got, chat: { tools: { getLocation: pageTool(), getTimezone: pageTool() }, onToolCall, ...more } };
}

/** Whether two tabs and the node have the same messages: ids, texts, and states of calls. */
export const gist = (messages) => messages.map((m) => ({ id: m.id, parts: m.parts.filter((p) => p.type !== "step-start").map((p) => (p.toolCallId ? [p.toolCallId, p.state, p.output ?? p.errorText] : (p.text ?? p.type))) }));

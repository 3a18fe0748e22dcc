// The stored conversation, loaded before the first render of a room.
import type { UIMessage } from "ai";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Asks until the node answers: a node that is starting or draining is a reason to wait, and an empty list in its place would look like
 * a lost conversation. A refusal (4xx) is final and throws its text.
 */
export async function loadTranscript({ agent, name }: { agent: string; name: string }): Promise<UIMessage[]> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const response = await fetch(`/agents/${agent}/${name}/get-messages`).catch(() => null);
    if (response?.ok) {
      const messages = (await response.json().catch(() => null)) as UIMessage[] | null;
      if (messages) return messages;
    }
    if (response && isFinal(response.status)) throw new Error(await refusal(response, agent));
    await pause(wait);
  }
}

/** 408 and 429 ask to come back later, as all of 5xx do. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

async function refusal(response: Response, agent: string): Promise<string> {
  const text = (await response.text().catch(() => "")).trim().slice(0, 200);
  return `The node does not open this conversation with “${agent}”: ${text || response.statusText} (${response.status}).`;
}

// What the node says about itself. The page works without it.

export interface Info {
  version: string;
  model: { name: string; note: string; scripted: boolean };
  /** Tools: those that the agent has by itself. A node without any tells none. */
  agents: { class: string; path: string; tools?: string[] }[];
}

const NO_INFO: Info = { version: "", model: { name: "", note: "", scripted: false }, agents: [] };

/** How long the page waits for the node's description before it goes on without. */
const PATIENCE_MS = 2000;

export async function loadInfo(): Promise<Info> {
  try {
    const response = await fetch("/holdfast/info", { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response.ok) return NO_INFO;
    const told = (await response.json()) as Partial<Info>;
    return { ...NO_INFO, ...told, model: { ...NO_INFO.model, ...told.model }, agents: told.agents ?? [] };
  } catch {
    return NO_INFO;
  }
}

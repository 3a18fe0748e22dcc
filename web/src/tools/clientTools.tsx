// The tools that this page runs: the agent names them (actors.ClientTool) and has no function for them. All are harmless in two tabs at
// once: each tab may answer, and the first answer counts.
import type { FunctionComponent } from "react";
import { PickColor } from "./PickColor";

export interface AskProps {
  input: unknown;
  disabled: boolean;
  onAnswer: (output: unknown) => void;
}

export interface ClientTool {
  /** Answers by itself. What it throws is told to the model as {error}. */
  run?: (input: unknown) => unknown;
  /** Asks the visitor, in the card of the call. */
  Ask?: FunctionComponent<AskProps>;
}

export const clientTools: Record<string, ClientTool> = {
  browser_time: { run: browserTime },
  browser_location: { run: browserLocation },
  pick_color: { Ask: PickColor },
};

function browserTime() {
  const now = new Date();
  const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
  return { time: now.toLocaleString(locale), timeZone, iso: now.toISOString(), language: navigator.language };
}

const LOCATION_PATIENCE_MS = 20_000;

/** Rounded to about a kilometre. The browser asks the visitor besides. */
function browserLocation(): Promise<unknown> {
  if (!navigator.geolocation) throw new Error("This browser has no location, or the page is not on https or localhost.");
  return new Promise((resolve, reject) => {
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve({ latitude: Number(coords.latitude.toFixed(2)), longitude: Number(coords.longitude.toFixed(2)), accuracyMetres: Math.max(Math.round(coords.accuracy), 1000) }),
      (error) => reject(new Error(error.code === error.PERMISSION_DENIED ? "The visitor, or the browser, does not give the location away." : error.message)),
      { timeout: LOCATION_PATIENCE_MS, maximumAge: 60_000 },
    );
  });
}

/** Runs a call that the page can answer by itself. A call that asks the visitor is answered by its card, one of another page's tools not at all. */
export async function runClientTool(call: { toolName: string; input: unknown }, answer: (output: unknown) => void): Promise<void> {
  const run = clientTools[call.toolName]?.run;
  if (!run) return;
  try {
    answer(await run(call.input));
  } catch (error) {
    // Not as state output-error: behind that the hook does not let the turn go on.
    answer({ error: error instanceof Error ? error.message : String(error) });
  }
}

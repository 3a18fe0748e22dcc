import { Mark } from "./icons";

interface Suggestion {
  title: string;
  note: string;
  prompt: string;
}

const STORY = { title: "Tell me a long story", note: "Reload the page in the middle of it.", prompt: "Tell me a long story about a kelp forest in a storm." };

const TALK: Suggestion[] = [
  STORY,
  { title: "Count to fifty", note: "Kill the node at thirty and start it again.", prompt: "Count to 50, one number after the other." },
  { title: "What is a holdfast?", note: "And open a second tab while the answer comes.", prompt: "What is a holdfast, and why does kelp need one?" },
];

/** For agents that have one of the demo's tools. */
const FOR_TOOLS: (Suggestion & { tool: string })[] = [
  { tool: "measure_tide", title: "How high is the tide?", note: "A tool of the node's, which shows how far it is.", prompt: "How high is the tide in Bergen?" },
  { tool: "write_log", title: "Write into the logbook", note: "It asks you first. Approve it in another tab.", prompt: 'Write "Sea calm, two seals on the skerry." into the logbook.' },
  { tool: "browser_time", title: "What time is it here?", note: "Your browser answers by itself.", prompt: "What time is it where I am?" },
  { tool: "browser_location", title: "Where am I?", note: "Your browser answers, once you have approved.", prompt: "Where am I?" },
  { tool: "pick_color", title: "Choose a colour", note: "The answer goes on when you have picked one.", prompt: "Let me pick a colour for the buoy." },
];

function suggestionsFor(tools: string[]): Suggestion[] {
  const fitting = FOR_TOOLS.filter(({ tool }) => tools.includes(tool));
  return fitting.length > 0 ? [STORY, ...fitting] : TALK;
}

export function Welcome({ tools, onPick, ready }: { tools: string[]; onPick: (prompt: string) => void; ready: boolean }) {
  return (
    <section className="welcome" data-testid="welcome">
      <Mark />
      <h1>What shall we talk about?</h1>
      <p>Whatever happens in the middle of an answer, it goes on where it was. Try to break one.</p>
      <ul>
        {suggestionsFor(tools).map(({ title, note, prompt }) => (
          <li key={title}>
            <button type="button" onClick={() => onPick(prompt)} disabled={!ready} data-testid="suggestion">
              <strong>{title}</strong>
              <span>{note}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

import { Mark } from "./icons";

const SUGGESTIONS = [
  { title: "Tell me a long story", prompt: "Tell me a long story about a lighthouse keeper, so that I can reload the page in the middle of it." },
  { title: "Explain a holdfast", prompt: "What is a holdfast, and why does kelp need one?" },
  { title: "Plan a weekend", prompt: "Plan a weekend in Bergen for two, as a table with times." },
];

export function Welcome({ onPick, ready }: { onPick: (prompt: string) => void; ready: boolean }) {
  return (
    <section className="welcome" data-testid="welcome">
      <Mark />
      <h1>What shall we talk about?</h1>
      <p>Answers go on when you reload, lose the network, or restart the node. Try it in the middle of one.</p>
      <ul>
        {SUGGESTIONS.map(({ title, prompt }) => (
          <li key={title}>
            <button type="button" onClick={() => onPick(prompt)} disabled={!ready} data-testid="suggestion">
              <strong>{title}</strong>
              <span>{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

import { Mark } from "./icons";

const SUGGESTIONS = [
  { title: "Tell me a long story", note: "Reload the page in the middle of it.", prompt: "Tell me a long story about a kelp forest in a storm." },
  { title: "Count to fifty", note: "Kill the node at thirty and start it again.", prompt: "Count to 50, one number after the other." },
  { title: "What is a holdfast?", note: "And open a second tab while the answer comes.", prompt: "What is a holdfast, and why does kelp need one?" },
];

export function Welcome({ onPick, ready }: { onPick: (prompt: string) => void; ready: boolean }) {
  return (
    <section className="welcome" data-testid="welcome">
      <Mark />
      <h1>What shall we talk about?</h1>
      <p>Whatever happens in the middle of an answer, it goes on where it was. Try to break one.</p>
      <ul>
        {SUGGESTIONS.map(({ title, note, prompt }) => (
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

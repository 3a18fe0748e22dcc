// A chat page without the agents client: useChat with its default transport. The same for each version of the AI SDK.
import { useState } from "react";
import { createRoot } from "react-dom/client";

export async function start({ useChat, DefaultChatTransport }) {
  const { agent, query = "" } = Object.fromEntries(new URLSearchParams(location.search));
  const stored = await (await fetch(`${agent}/get-messages`)).json();

  function Chat() {
    const [transport] = useState(() => new DefaultChatTransport({ api: `${agent}/chat${query}` }));
    const { messages, sendMessage, regenerate, stop, status, error } = useChat({ messages: stored, resume: true, transport });
    const halt = async () => {
      await stop();
      await fetch(`${agent}/chat/stop`, { method: "POST" });
    };
    return (
      <main data-testid="chat" data-status={status}>
        {messages.map(({ id, role, parts }) => (
          <p key={id} data-testid="message" data-role={role}>
            {parts.map((part, i) => part.type === "text" && <span key={i}>{part.text}</span>)}
          </p>
        ))}
        {error && <p data-testid="error">{error.message}</p>}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void sendMessage({ text: event.target.elements.text.value });
          }}
        >
          <input name="text" data-testid="composer" />
        </form>
        <button data-testid="stop" onClick={halt}>
          Stop
        </button>
        <button data-testid="regenerate" onClick={() => void regenerate()}>
          Again
        </button>
      </main>
    );
  }

  createRoot(document.getElementById("root")).render(<Chat />);
}

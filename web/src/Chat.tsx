import { useEffect, useState } from "react";
import { Announcer } from "./Announcer";
import { ClearDialog } from "./ClearDialog";
import { Composer } from "./Composer";
import { Header } from "./Header";
import { ArrowDown } from "./icons";
import type { Info } from "./info";
import { McpServers } from "./McpServers";
import { Messages } from "./Messages";
import { plainText } from "./parts/plainText";
import { openAgent, openNewRoom } from "./place";
import { useStickToBottom } from "./stick";
import { useTurn } from "./turn";
import { Welcome } from "./Welcome";

export function Chat({ agentClass, room, info }: { agentClass: string; room: string; info: Info }) {
  const turn = useTurn(agentClass, room);
  const stick = useStickToBottom();
  const [askClear, setAskClear] = useState(false);
  const empty = turn.messages.length === 0 && turn.phase === "idle";
  useTitle(turn.messages[0] ? plainText(turn.messages[0]) : "");

  const send = (text: string) => {
    turn.send(text);
    stick.toBottom();
  };

  const regenerate = () => {
    turn.regenerate();
    stick.toBottom();
    stick.scroller.current?.focus(); // the button that had the focus goes away
  };

  return (
    <div className="page">
      <Header
        connection={turn.connection}
        model={info.model.name}
        agents={info.agents.map((agent) => agent.class)}
        agent={agentClass}
        onAgent={openAgent}
        onNewChat={openNewRoom}
        onClear={turn.messages.length > 0 && turn.connection === "connected" ? () => setAskClear(true) : undefined}
      />
      {info.model.scripted && (
        <aside className="banner" aria-label="About the model" data-testid="banner">
          {info.model.note}
        </aside>
      )}
      <McpServers servers={turn.mcp} />
      <main className="stage">
        <div className="scroll" ref={stick.scroller} tabIndex={-1} data-testid="scroller">
          <div className="column" ref={stick.content}>
            {empty ? <Welcome tools={info.agents.find((agent) => agent.class === agentClass || agent.path.endsWith(`/${agentClass}`))?.tools ?? []} onPick={send} ready={turn.connection === "connected"} /> : <Messages turn={{ ...turn, regenerate }} />}
          </div>
        </div>
        {!stick.atBottom && !empty && (
          <button type="button" className="to-latest" data-testid="to-latest" onClick={stick.toBottom} aria-label="Go to the latest message">
            <ArrowDown />
          </button>
        )}
      </main>
      <Composer key={room} room={room} phase={turn.phase} connection={turn.connection} onSend={send} onStop={turn.stop} />
      <ClearDialog open={askClear} onClose={() => setAskClear(false)} onClear={turn.clear} />
      <Announcer turn={turn} />
    </div>
  );
}

function useTitle(firstMessage: string): void {
  useEffect(() => {
    const start = firstMessage.trim().replace(/\s+/g, " ").slice(0, 60);
    document.title = start ? `${start} · Holdfast` : "Holdfast";
  }, [firstMessage]);
}

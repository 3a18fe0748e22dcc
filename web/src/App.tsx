import { Suspense, use } from "react";
import { Chat } from "./Chat";
import { Failure } from "./Failure";
import { Header } from "./Header";
import { loadInfo } from "./info";
import { settleRoom, usePlace } from "./place";

const DEFAULT_AGENT = "Assistant";

settleRoom();
const infoPromise = loadInfo();

export function App() {
  return (
    <Suspense fallback={<Loading />}>
      <Room />
    </Suspense>
  );
}

function Room() {
  const info = use(infoPromise);
  const place = usePlace();
  const agentClass = place.agent ?? info.agents[0]?.class ?? DEFAULT_AGENT;
  const key = `${agentClass}/${place.room}`;
  return (
    <Failure key={key}>
      <Suspense fallback={<Loading />}>
        <Chat agentClass={agentClass} room={place.room} info={info} />
      </Suspense>
    </Failure>
  );
}

function Loading() {
  return (
    <div className="page">
      <Header connection="connecting" />
      <main className="stage" aria-busy="true">
        <p className="sr-only">Loading the conversation…</p>
      </main>
    </div>
  );
}

import type { useAgent } from "agents/react";
import { useEffect, useState } from "react";

/** What the page needs of the hook's agent; the methods for remote calls depend on an agent type that the page does not have. */
export type Agent = Omit<ReturnType<typeof useAgent>, "call" | "stub">;

/** `refused` is final: the node closed with a code that says not to come back. */
export type Connection = "connecting" | "connected" | "reconnecting" | "refused";

/** Socket options. The first retry comes soon, since a restarted node is back in a moment; the random part keeps the tabs of a room from coming back in step. */
export const SOCKET = {
  // The client would pick wss for every host that does not look local.
  protocol: location.protocol === "https:" ? ("wss" as const) : ("ws" as const),
  minReconnectionDelay: 400 + Math.round(Math.random() * 400),
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5000,
};

export function useConnection(agent: Agent): Connection {
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    const onOpen = () => setConnection("connected");
    const onClose = () => setConnection((was) => (was === "connecting" ? was : "reconnecting"));
    if (agent.readyState === agent.OPEN) onOpen();
    agent.addEventListener("open", onOpen);
    agent.addEventListener("close", onClose);
    return () => {
      agent.removeEventListener("open", onOpen);
      agent.removeEventListener("close", onClose);
    };
  }, [agent]);
  return agent.connectionError ? "refused" : connection;
}

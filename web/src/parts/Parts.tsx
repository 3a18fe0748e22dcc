import { isDataUIPart, isToolUIPart, type UIMessage } from "ai";
import { DataPart } from "./DataPart";
import { FilePart } from "./FilePart";
import { joinedTexts } from "./joined";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";
import { Sources } from "./Sources";
import { ToolPart, type ToolActions } from "./ToolPart";

type Part = UIMessage["parts"][number];

interface PartsProps extends ToolActions {
  message: UIMessage;
  streaming: boolean;
  connected: boolean;
}

export function Parts({ message, ...rest }: PartsProps) {
  const sources = message.parts.filter((part) => part.type === "source-url" || part.type === "source-document");
  const parts = joinedTexts(message.parts);
  return (
    <>
      {parts.map((part, index) => (
        <OnePart key={index} part={part} role={message.role} live={rest.streaming && index === parts.length - 1} {...rest} />
      ))}
      {sources.length > 0 && <Sources sources={sources} />}
    </>
  );
}

interface OnePartProps extends Omit<PartsProps, "message"> {
  part: Part;
  role: UIMessage["role"];
  /** This is the part that grows at the moment. */
  live: boolean;
}

/** Parts of kinds that the page does not know are left out. */
function OnePart({ part, role, live, streaming, ...tools }: OnePartProps) {
  if (isToolUIPart(part)) return <ToolPart part={part} going={streaming} {...tools} />;
  if (isDataUIPart(part)) return <DataPart part={part} />;
  switch (part.type) {
    case "text":
      if (part.text === "") return null;
      return role === "user" ? <p className="said" data-testid="text">{part.text}</p> : <Markdown text={part.text} live={live} />;
    case "reasoning":
      return part.text === "" ? null : <Reasoning text={part.text} live={live && part.state === "streaming"} />;
    case "file":
    case "reasoning-file":
      return <FilePart url={part.url} mediaType={part.mediaType} name={part.type === "file" ? part.filename : undefined} />;
    default:
      return null;
  }
}

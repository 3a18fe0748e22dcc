import { isToolUIPart, type UIMessage } from "ai";
import { FilePart } from "./FilePart";
import { joinedTexts } from "./joined";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";
import { Sources } from "./Sources";
import { ToolPart } from "./ToolPart";

type Part = UIMessage["parts"][number];

interface PartsProps {
  message: UIMessage;
  streaming: boolean;
  onApprove: (approvalId: string, approved: boolean) => void;
}

export function Parts({ message, streaming, onApprove }: PartsProps) {
  const sources = message.parts.filter((part) => part.type === "source-url" || part.type === "source-document");
  const parts = joinedTexts(message.parts);
  return (
    <>
      {parts.map((part, index) => (
        <OnePart key={index} part={part} role={message.role} live={streaming && index === parts.length - 1} onApprove={onApprove} />
      ))}
      {sources.length > 0 && <Sources sources={sources} />}
    </>
  );
}

/** `live`: this is the part that grows at the moment. Parts of kinds that the page does not know are left out. */
function OnePart({ part, role, live, onApprove }: { part: Part; role: UIMessage["role"]; live: boolean; onApprove: PartsProps["onApprove"] }) {
  if (isToolUIPart(part)) return <ToolPart part={part} onApprove={onApprove} />;
  switch (part.type) {
    case "text":
      if (part.text === "") return null;
      return role === "user" ? <p className="said" data-testid="text">{part.text}</p> : <Markdown text={part.text} live={live} />;
    case "reasoning":
      return part.text === "" ? null : <Reasoning text={part.text} live={live && part.state === "streaming"} />;
    case "file":
      return <FilePart url={part.url} mediaType={part.mediaType} name={part.filename} />;
    default:
      return null;
  }
}

import type { SourceDocumentUIPart, SourceUrlUIPart } from "ai";
import { Page } from "../icons";
import { safeHref } from "./href";

type Source = SourceUrlUIPart | SourceDocumentUIPart;

export function Sources({ sources }: { sources: Source[] }) {
  return (
    <ul className="sources" aria-label="Sources" data-testid="sources">
      {sources.map((source) => (
        <li key={source.sourceId}>{source.type === "source-url" ? <WebSource source={source} /> : <DocumentSource source={source} />}</li>
      ))}
    </ul>
  );
}

function WebSource({ source }: { source: SourceUrlUIPart }) {
  const href = safeHref(source.url);
  if (!href) return <span className="chip">{source.title ?? source.url}</span>;
  return (
    <a className="chip" href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {source.title || new URL(href).hostname}
      <small>{new URL(href).hostname.replace(/^www\./, "")}</small>
    </a>
  );
}

function DocumentSource({ source }: { source: SourceDocumentUIPart }) {
  return (
    <span className="chip">
      <Page />
      {source.title}
      {source.filename && <small>{source.filename}</small>}
    </span>
  );
}

import { useState } from "react";
import { Page } from "../icons";

interface FilePartProps {
  url: string;
  mediaType: string;
  name?: string;
}

/** Pictures that came with the message are shown; everything else is offered for download. */
export function FilePart({ url, mediaType, name }: FilePartProps) {
  const [broken, setBroken] = useState(false);
  const label = name ?? `File (${mediaType})`;
  const shown = mediaType.startsWith("image/") && isOwn(url) && !broken;
  if (shown) return <img className="picture" src={url} alt={name ?? "Picture in the answer"} onError={() => setBroken(true)} />;
  return (
    <p className="file">
      <a className="chip" href={isOwn(url) || /^https?:/i.test(url) ? url : undefined} download={name ?? true} rel="noopener noreferrer" data-testid="file">
        <Page />
        {label}
      </a>
    </p>
  );
}

/** Inline data or this node's own files; a picture from a foreign host would tell that host who reads. */
function isOwn(url: string): boolean {
  return url.startsWith("data:") || new URL(url, location.href).origin === location.origin;
}

// Reads one JSON object a line: {"message": the base or null, "chunks": [...]}.
// Answers each with one line, what the AI SDK's reader makes of it:
// {"ai6": {"message", "error"}, "ai7": {"message", "error"}}.
import { createInterface } from "node:readline";
import * as ai6 from "ai6";
import * as ai7 from "ai7";

// The reader copies the whole message for each chunk. Only the last one is looked
// at, so that copies are a waste of time.
globalThis.structuredClone = (message) => message;

// The reader tells of a message when a chunk has changed something that a page
// shows, which a start-step alone does not. This one it always tells of.
const last = { type: "message-metadata", messageMetadata: {} };

async function read({ readUIMessageStream }, text) {
  const { message, chunks } = JSON.parse(text); // anew for each: readers change the message in place
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of [...chunks, last]) controller.enqueue(chunk);
      controller.close();
    },
  });
  const result = { message: null, error: "" };
  const onError = (error) => (result.error ||= String(error?.message ?? error));
  for await (const m of readUIMessageStream({ message: message ?? undefined, stream, onError })) result.message = m;
  return result;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(JSON.stringify({ ai6: await read(ai6, line), ai7: await read(ai7, line) }) + "\n");
}

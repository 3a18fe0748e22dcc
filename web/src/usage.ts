import type { UIMessage } from "ai";

/** Steps of a message, if it took more than one, and its tokens, if its metadata tells them; "" if there is nothing to say. */
export function usageOf(message: UIMessage): string {
  const steps = message.parts.filter((part) => part.type === "step-start").length;
  const usage = (message.metadata as { usage?: Record<string, unknown> } | undefined)?.usage;
  const said = steps > 1 ? [`${steps} steps`] : [];
  const [input, output] = [usage?.["inputTokens"], usage?.["outputTokens"]];
  if (typeof input === "number" && typeof output === "number") said.push(`${input.toLocaleString("en")} tokens in, ${output.toLocaleString("en")} out`);
  return said.join(" · ");
}

/** Why an answer is shorter than the model would have made it, "" if it is not. */
export function cutShort(message: UIMessage): string {
  switch ((message.metadata as { finishReason?: unknown } | undefined)?.finishReason) {
    case "length":
      return "The answer ends here: it has reached its greatest length.";
    case "content-filter":
      return "The answer ends here: the provider's filter has cut it off.";
    default:
      return "";
  }
}

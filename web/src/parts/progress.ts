/** What a preliminary output says of how far a call is: a share from 0 to 1, and words. Outputs have no fixed form; the common names are known. */
export function progressOf(output: unknown): { fraction?: number; text?: string } {
  if (typeof output === "string") return { text: output };
  if (typeof output !== "object" || output === null) return {};
  const fields = output as Record<string, unknown>;
  const share = number(fields["fraction"]) ?? percent(fields["percent"] ?? fields["pct"]);
  const words = fields["message"] ?? fields["status"];
  return { ...(share !== undefined && { fraction: Math.min(Math.max(share, 0), 1) }), ...(typeof words === "string" && { text: words }) };
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function percent(value: unknown): number | undefined {
  const n = number(value);
  return n === undefined ? undefined : n / 100;
}

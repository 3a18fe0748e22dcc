// Lets the hooks find AI SDK 6 where they ask for the AI SDK.
const react3 = new URL("../node_modules/ai-sdk-react-3/package.json", import.meta.url).href;

export function resolve(specifier, context, next) {
  if (specifier === "ai") return next("ai", { ...context, parentURL: react3 });
  if (specifier === "@ai-sdk/react") return next("ai-sdk-react-3", { ...context, parentURL: import.meta.url });
  return next(specifier, context);
}

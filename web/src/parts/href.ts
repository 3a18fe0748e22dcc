/** An address that may become a link: web and mail only, so that no message can smuggle in a script. */
export function safeHref(href: string): string | undefined {
  try {
    const url = new URL(href, location.href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

// Markdown becomes React elements straight from the parser's tokens: no HTML string exists, so there is nothing to sanitize. HTML in a
// message is shown as the text that it is. Images become links: fetching one from a foreign host would tell that host what was said.
import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { Fragment, memo, useMemo, type ReactNode } from "react";
import { safeHref } from "./href";

export function Markdown({ text, live }: { text: string; live: boolean }) {
  const blocks = useMemo(() => lexer(text), [text]);
  return (
    <div className={live ? "prose live" : "prose"} data-testid="text">
      {blocks.map((token, index) => (
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

/** While an answer grows only its last block changes; the finished ones above it are not drawn again. */
const Block = memo(
  ({ token }: { token: Token; raw: string }) => <>{render(token)}</>,
  (a, b) => a.raw === b.raw && a.token.type === b.token.type,
);

function inner(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{render(token)}</Fragment>);
}

function render(generic: Token): ReactNode {
  const token = generic as MarkedToken;
  switch (token.type) {
    case "paragraph":
      return <p>{inner(token.tokens)}</p>;
    case "heading":
      return heading(token);
    case "list":
      return list(token);
    case "code":
      return <CodeBlock code={token.text} language={token.lang} />;
    case "blockquote":
      return <blockquote>{inner(token.tokens)}</blockquote>;
    case "table":
      return table(token);
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inner(token.tokens)}</strong>;
    case "em":
      return <em>{inner(token.tokens)}</em>;
    case "del":
      return <del>{inner(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{inner(token.tokens)}</Link>;
    case "image":
      return <Link href={token.href}>{token.text || token.href}</Link>;
    case "text":
      return token.tokens ? inner(token.tokens) : token.text;
    case "escape":
    case "html":
      return token.text;
    default:
      return null; // space, link definitions, and the check mark of a task, which its list draws
  }
}

/** A message is below the page's own headings, so its first level starts further down. */
function heading(token: Tokens.Heading): ReactNode {
  const Level = `h${Math.min(token.depth + 2, 6)}` as "h3";
  return <Level className={`d${token.depth}`}>{inner(token.tokens)}</Level>;
}

function list(token: Tokens.List): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.checked ? "done" : "to do"} />}
      {inner(item.tokens)}
    </li>
  ));
  return token.ordered ? <ol start={token.start || undefined}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): ReactNode {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td") =>
    row.map((cell, index) => (
      <Cell key={index} className={cell.align ? `to-${cell.align}` : undefined}>
        {inner(cell.tokens)}
      </Cell>
    ));
  return (
    <div className="table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{cells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CodeBlock({ code, language }: { code: string; language?: string }) {
  return (
    <figure className="code">
      {language && <figcaption>{language}</figcaption>}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeHref(href);
  if (!safe) return <>{children}</>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

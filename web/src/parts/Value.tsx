// Values that came as JSON: in a line, as a small table, or whole.

/** "read_file", "readFile" and "data-read-file" read better in words. */
export function titleOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The simple values of an object, or a text, for one line; the style sheet cuts it to what fits. */
export function brief(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return value === undefined ? "" : String(value);
  return Object.values(value)
    .filter((v) => typeof v === "string" || typeof v === "number")
    .join(", ")
    .slice(0, 120);
}

/** One entry of a definition list. Nothing at all for a value that is not there. */
export function Value({ label, value }: { label: string; value: unknown }) {
  if (value === undefined || isEmpty(value)) return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>{isFlat(value) ? <Fields value={value} /> : <pre tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>}</dd>
    </>
  );
}

type Flat = Record<string, string | number | boolean | null>;

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Whether an object is a handful of simple values, which are easier to read without the marks of JSON. */
function isFlat(value: unknown): value is Flat {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const values = Object.values(value);
  return values.length <= 12 && values.every((v) => v === null || (typeof v === "string" ? v.length <= 200 : typeof v === "number" || typeof v === "boolean"));
}

function Fields({ value }: { value: Flat }) {
  return (
    <table className="fields">
      <tbody>
        {Object.entries(value).map(([key, v]) => (
          <tr key={key}>
            <th scope="row">{key}</th>
            <td>{String(v)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { Status } from './status.tsx';
import { approvalsTexts as texts } from './texts.ts';

/** The names of ids in a request, as far as the person may see what they name. */
export function namesIn(request: Request | null): Record<string, unknown> {
  return (request?.names ?? {}) as Record<string, unknown>;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body?: unknown;
  readonly names: unknown;
  readonly differences: readonly { what: string; before?: unknown; after?: unknown }[];
}

/** What a request changes, in names and as a difference, and below it as it was sent. */
export function What({ request, status }: { request: Request | null; status: Status }) {
  if (request === null) return null;
  const known = namesIn(request);
  const names = Object.entries(known);
  const title = status === 'pending' ? texts.what : status === 'completed' ? texts.happened : texts.asked;
  return (
    <section class="card">
      <h2>{title}</h2>
      {request.differences.length === 0 ? null : (
        <Table
          caption={title}
          rows={request.differences}
          keyOf={({ what }) => what}
          columns={[
            { title: texts.field, cell: ({ what }) => inNames(what, known) },
            {
              title: status === 'pending' ? texts.before : texts.beforeThat,
              cell: ({ before }) => <Value of={before} names={known} />,
            },
            { title: texts.after, cell: ({ after }) => <Value of={after} names={known} /> },
          ]}
        />
      )}
      <details open={request.differences.length === 0}>
        <summary>{texts.request}</summary>
        <pre>
          {request.method} {request.path}
          {request.query}
          {request.body === undefined || request.body === null ? '' : `\n${JSON.stringify(request.body, null, 2)}`}
        </pre>
        {names.length === 0 ? null : (
          <>
            <h3>{texts.names}</h3>
            <ul class="plain">
              {names.map(([id, name]) => (
                <li key={id}>
                  <code>{id}</code> {String(name)}
                </li>
              ))}
            </ul>
          </>
        )}
      </details>
    </section>
  );
}

/** With names in place of ids, and times as people read them. */
function Value({ of: value, names }: { of: unknown; names: Record<string, unknown> }) {
  if (value === undefined || value === null) return <>–</>;
  if (typeof value === 'string' && TIME.test(value)) return <Time at={value} />;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return <pre>{inNames(text, names).replaceAll(TIMES, (time) => new Date(time).toLocaleString('en'))}</pre>;
}
const TIMES = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function inNames(text: string, names: Record<string, unknown>): string {
  return text.replaceAll(IDS, (id) => (typeof names[id] === 'string' ? names[id] : id));
}
const IDS = /\b[a-z]+_[0-9a-z]{26}\b/g;

import type { RouteOutput } from '@coffer/client';
import { type ComponentChildren, Fragment } from 'preact';
import { auditAddress } from '../app/audit-address.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { shared } from '../ui/texts.ts';
import { wordsOf } from './actions.ts';
import type { Filter } from './filter.ts';
import { auditTexts as texts } from './texts.ts';

export type Entry = RouteOutput<'GET /v1/audit'>['entries'][number];

export function DecisionBadge({ decision }: Pick<Entry, 'decision'>) {
  const tone = decision === 'allow' ? 'good' : decision === 'deny' ? 'danger' : 'warning';
  return <Badge tone={tone}>{texts.decisions[decision]}</Badge>;
}

export function actorName({ actor: { name, id, kind } }: Entry): string {
  return name || id || texts.kinds[kind] || texts.nobody;
}

/** Everything about an entry, in words; what it is as data is one click further. */
export function EntryDetails({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const { action, actor, resource, vault, decision, status, reason, ip, details } = entry;
  const words = texts.entry;
  const rows: [string, ComponentChildren][] = [
    [texts.when, new Date(entry.timestamp).toLocaleString('en', { dateStyle: 'long', timeStyle: 'long' })],
    [texts.who, [actorName(entry), texts.kinds[actor.kind] ?? actor.kind].filter(Boolean).join(', ')],
    [words.credential, actor.key],
    [words.action, <code key="action">{action}</code>],
    [words.resource, resource],
    [words.vault, vault],
    [
      words.decision,
      <span key="decision" class="row">
        <DecisionBadge decision={decision} /> {words.status(status)}
      </span>,
    ],
    [words.reason, reason],
    ...Object.entries(details).map(([name, value]): [string, ComponentChildren] =>
      name === 'via' ? [words.via, words.ways[String(value)] ?? valueText(value)] : [nameText(name), valueText(value)],
    ),
    [texts.address, ip],
    [words.program, entry.user_agent],
    [words.request, entry.request_id === '' ? '' : <code key="request">{entry.request_id}</code>],
    [words.rows, entry.rows === undefined ? '' : words.rowsOf(entry.rows.length)],
    [words.position, entry.seq === null ? words.notLinked : String(entry.seq)],
  ];
  return (
    <Dialog title={wordsOf(action) ?? action} isWide onClose={onClose}>
      <dl class="facts">
        {rows
          .filter(([, value]) => value !== '' && value !== null)
          .map(([name, value], index) => (
            <Fragment key={`${index} ${name}`}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
      </dl>
      <div class="row">
        <More text={words.sameActor} filter={{ actor: actor.id }} onClose={onClose} />
        <More text={words.sameResource} filter={{ resource }} onClose={onClose} />
        <More text={words.sameRequest} filter={{ request_id: entry.request_id }} onClose={onClose} />
      </div>
      <details>
        <summary>{texts.raw}</summary>
        <pre>{JSON.stringify(entry, null, 2)}</pre>
      </details>
      <div class="dialog-foot">
        <Button onClick={onClose}>{shared.close}</Button>
      </div>
    </Dialog>
  );
}

function More({ text, filter, onClose }: { text: string; filter: Filter; onClose: () => void }) {
  if (Object.values(filter).includes('')) return null;
  return (
    <a href={auditAddress(filter)} onClick={onClose}>
      {text}
    </a>
  );
}

/** `retention_days` as people write it. */
function nameText(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return texts.none;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  if (Array.isArray(value)) return value.length === 0 ? texts.none : value.map(valueText).join(', ');
  if (typeof value !== 'object') return String(value);
  const { before, after, ...others } = value as Record<string, unknown>;
  if ('before' in value && 'after' in value && Object.keys(others).length === 0)
    return texts.change(valueText(before), valueText(after));
  return Object.entries(value)
    .map(([name, each]) => `${nameText(name)}: ${valueText(each)}`)
    .join(', ');
}

import type { CofferError, RouteOutput } from '@coffer/client';
import { policiesTexts as texts } from './texts.ts';

export type Policy = RouteOutput<'GET /v1/policies'>['policies'][number];
export type PolicyDocument = Policy['document'];
type Statement = PolicyDocument['statement'][number];
type Condition = NonNullable<Statement['condition']>;

/** A statement as the form has it. */
export interface StatementDraft {
  readonly key: number;
  readonly sid: string;
  readonly effect: 'allow' | 'deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly addresses: readonly string[];
  readonly environments: readonly string[];
  readonly tags: readonly string[];
  /** Such as `08:00-18:00`. */
  readonly times: readonly string[];
  readonly mfa: 'any' | 'true' | 'false';
}

const VERSION = '2026-01-01';
let keys = 0;

export function newStatement(): StatementDraft {
  return {
    key: ++keys,
    sid: '',
    effect: 'allow',
    actions: [],
    resources: [],
    addresses: [],
    environments: [],
    tags: [],
    times: [],
    mfa: 'any',
  };
}

function draftOf({ statement }: PolicyDocument): StatementDraft[] {
  return statement.map(({ sid, effect, action, resource, condition = {} }) => ({
    ...newStatement(),
    sid: sid ?? '',
    effect,
    actions: action,
    resources: resource,
    addresses: condition.ip_cidr ?? [],
    environments: condition.environment ?? [],
    tags: condition.tag_equals ?? [],
    times: (condition.time_between ?? []).map(({ from, to }) => `${from}-${to}`),
    mfa: condition.mfa?.length === 1 ? (String(condition.mfa[0]) as 'true' | 'false') : 'any',
  }));
}

function documentOf(draft: readonly StatementDraft[], version: string): PolicyDocument {
  return { version, statement: draft.map(statementOf) };
}

function statementOf(draft: StatementDraft): Statement {
  const { sid, effect, actions, resources, addresses, environments, tags, times, mfa } = draft;
  const condition: Condition = {
    ...(addresses.length > 0 && { ip_cidr: once(addresses) }),
    ...(environments.length > 0 && { environment: once(environments) }),
    ...(mfa !== 'any' && { mfa: [mfa === 'true'] }),
    ...(times.length > 0 && { time_between: once(times).map(timesOf) }),
    ...(tags.length > 0 && { tag_equals: once(tags) }),
  };
  return {
    ...(sid.trim() !== '' && { sid: sid.trim() }),
    effect,
    action: once(actions),
    resource: once(resources),
    ...(Object.keys(condition).length > 0 && { condition }),
  };
}

function once(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** The service says what is wrong with other texts. */
function timesOf(text: string): { from: string; to: string } {
  const [from = '', to = ''] = text.split('-').map((each) => each.trim());
  return { from, to };
}

/** What is edited: as a form, or as the text of the document. */
export type Edited =
  | { readonly as: 'form'; readonly version: string; readonly draft: readonly StatementDraft[] }
  | { readonly as: 'json'; readonly text: string };

export const NEW_POLICY: Edited = { as: 'form', version: VERSION, draft: [newStatement()] };

/** As a form, if that can show all of it: a condition that the form left out would be lost when it is saved. */
export function editedOf(document: PolicyDocument): Edited {
  const form: Edited = { as: 'form', version: document.version, draft: draftOf(document) };
  return sameJson(documentIn(form), document) ? form : asJson(document);
}

export function asJson(document: PolicyDocument): Edited {
  return { as: 'json', text: JSON.stringify(document, null, 2) };
}

/** The document, or what is wrong with its text. The service checks the rest, so nothing of it is left out. */
export function documentIn(edited: Edited): PolicyDocument | string {
  if (edited.as === 'form') return documentOf(edited.draft, edited.version);
  try {
    const read = JSON.parse(edited.text) as PolicyDocument;
    return isShaped(read) ? read : texts.jsonWrong(texts.jsonShape);
  } catch (error) {
    return texts.jsonWrong((error as Error).message);
  }
}

function isShaped(read: PolicyDocument | null): boolean {
  const isList = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string');
  return (
    Array.isArray(read?.statement) &&
    read.statement.every((each) => isList(each?.action) && isList(each?.resource) && isObject(each.condition ?? {}))
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

/** What the service finds wrong, by the number of the statement and its field. */
export type StatementProblems = Readonly<Record<string, string>>;

export function problemsOf(error: CofferError | null): ReadonlyMap<number, StatementProblems> {
  const found = new Map<number, StatementProblems>();
  const fields = (error?.details['fields'] ?? []) as readonly { pointer: string; reason: string }[];
  for (const { pointer, reason } of fields) {
    const [, index, field = 'statement', rest] = POINTER.exec(pointer) ?? [];
    if (index === undefined) continue;
    const known = found.get(Number(index));
    // A condition has fields of its own, which a reader has to know.
    const said = field === 'condition' && rest !== undefined ? `${rest}: ${reason}` : reason;
    found.set(Number(index), { ...known, [field]: [known?.[field], said].filter(Boolean).join('; ') });
  }
  return found;
}

const POINTER = /\/document\/statement\/(\d+)(?:\/([a-z]+)(?:\/(.+))?)?/;

import type { Caller } from './caller.ts';
import type { Answer } from './client.ts';
import { type Operation, operationAt } from './document.ts';
import { idsIn, namesIn, type Side, sideOf, valuesIn } from './marks.ts';
import { contentOf, type Draft, type Sent } from './request.ts';

const REQUEST_ID = /^req_[0-9a-z]{26}$/;
const PAGE_DEFAULT = 100;
/** What a bent path may be told, whatever the operation it was made from declares: that there is no such route, or none that takes a body. */
const NO_ROUTE = new Map([
  [400, 'INVALID_REQUEST'],
  [404, 'NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [413, 'PAYLOAD_TOO_LARGE'],
]);
/** A page of values is bounded by the page and the value: no answer of JSON is larger than what one body may hold. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

export interface Exchange {
  caller: Caller;
  draft: Draft;
  sent: Sent;
  answer: Answer;
}

/** Holds every answer against what the service says of itself, and against what it must not say to this caller. */
export class Checks {
  readonly #operations: readonly Operation[];
  /** What each side has sent so far: it may be told that again. */
  readonly #sent: Record<Side, Set<string>> = { ours: new Set(), theirs: new Set() };
  readonly #sentBy = new Map<string, Set<string>>();
  /** Ids that one side was told and the other was not. */
  readonly #ids: Record<Side, Set<string>> = { ours: new Set(), theirs: new Set() };
  readonly #shared: ReadonlySet<string>;
  readonly #found = new WeakMap<Exchange, Operation | null>();

  constructor(operations: readonly Operation[], shared: ReadonlySet<string>) {
    this.#operations = operations;
    this.#shared = shared;
  }

  /** Everything that is wrong with an answer. What was sent at the same time is noted first: the response may already show it. */
  of(exchange: Exchange): string[] {
    const operation = this.#operationOf(exchange);
    return [
      ...problemsOfForm(exchange.answer),
      ...problemsOfStatus(exchange, operation, isBent(exchange)),
      ...problemsOfSize(exchange, operation),
      ...(operation?.isPublic === true ? [] : this.#problemsOfTelling(exchange)),
    ];
  }

  #operationOf(exchange: Exchange): Operation | null {
    const found = this.#found.get(exchange);
    if (found !== undefined) return found;
    const { sent, draft } = exchange;
    const operation = isBent(exchange) ? operationAt(this.#operations, sent.method, sent.path) : draft.operation;
    this.#found.set(exchange, operation);
    return operation;
  }

  note(exchange: Exchange): void {
    const { caller, sent, answer } = exchange;
    const operation = this.#operationOf(exchange);
    const own = this.#sentBy.get(caller.name) ?? new Set<string>();
    this.#sentBy.set(caller.name, own);
    // Anonymous requests are in the log of the operator.
    const isNobodys = answer.status === 401 || operation === null || operation.isPublic;
    for (const one of contentOf(sent)) {
      own.add(one);
      this.#sent[caller.side].add(one);
      if (isNobodys) this.#sent.ours.add(one);
    }
  }

  /** Whether it tells what the caller neither sent nor may see. */
  #problemsOfTelling({ caller, answer, draft }: Exchange): string[] {
    const problems: string[] = [];
    const { side } = caller;
    const other = side === 'ours' ? 'theirs' : 'ours';
    const sentNames = this.#sentBy.get(caller.name) ?? new Set();
    const sent = this.#sent[side];
    for (const name of namesIn(answer.text)) {
      // Nobody's name: a signature of random letters can look like one.
      if (!sent.has(name) && !this.#sent[other].has(name)) continue;
      const isForeign = sideOf(name) !== side;
      if (isForeign && !sent.has(name)) problems.push(`tells a name of another tenant: ${name}`);
      if (!caller.seesNames && !sentNames.has(name)) problems.push(`tells a name to somebody without rights: ${name}`);
    }
    for (const id of idsIn(answer.text)) {
      // Its own number is no secret to the requester, though the operator's log may show it at the same moment.
      if (this.#shared.has(id) || id === answer.headers['x-request-id']) continue;
      if (this.#ids[other].has(id) && !sent.has(id)) problems.push(`tells an id of another tenant: ${id}`);
      // Who runs the installation makes tenants, and is told who owns them.
      else if (answer.status < 300 && draft.operation.tenant !== 'operator' && !sent.has(id)) this.#ids[side].add(id);
    }
    const values = valuesIn(answer.text);
    if (answer.status >= 400 && values.size > 0) problems.push('an error repeats a value');
    if (caller.seesValues) return problems;
    for (const value of values) {
      if (!sentNames.has(value)) problems.push('tells a value to somebody who may not see it');
    }
    return problems;
  }
}

function isBent({ draft }: Exchange): boolean {
  return draft.rawPath !== null || draft.method !== draft.operation.method || draft.tricks.length > 0;
}

function problemsOfForm(answer: Answer): string[] {
  const { status, headers, text } = answer;
  const problems: string[] = [];
  const requestId = String(headers['x-request-id'] ?? '');
  if (!REQUEST_ID.test(requestId)) problems.push('no request id');
  if (status >= 500 && status !== 503) problems.push(`answered ${status}`);
  // What is disabled stays so: there is no use in trying again.
  const passes = status === 429 || (status === 503 && codeOf(answer) !== 'COPILOT_DISABLED');
  if (passes && !/^\d+$/.test(String(headers['retry-after']))) problems.push('no Retry-After');
  if (headers['x-content-type-options'] !== 'nosniff') problems.push('no X-Content-Type-Options');
  if (status >= 400 && text !== '' && !isScimError(answer)) {
    const { code, message, request_id } = errorOf(answer);
    if (typeof code !== 'string' || typeof message !== 'string') problems.push('no error body');
    else if (request_id !== requestId) problems.push('the error has another request id');
  }
  return problems;
}

function problemsOfStatus(exchange: Exchange, operation: Operation | null, isBent: boolean): string[] {
  const { answer, caller, sent } = exchange;
  const { status } = answer;
  if (isBent && (NO_ROUTE.get(status) === codeOf(answer) || (NO_ROUTE.has(status) && isScimError(answer)))) return [];
  if (isBent && sent.method === 'HEAD') return status < 500 ? [] : [`HEAD answered ${status}`];
  // Callers who are known are counted, and get the headers about their limit, also where there is no endpoint.
  const isLimit = status === 429 && answer.headers['x-ratelimit-limit'] !== undefined;
  if (isBent && sent.method === 'OPTIONS') return status === 204 || isLimit ? [] : [`OPTIONS answered ${status}`];
  if (isBent && [414, 431].includes(status)) return [];
  if (operation === null && isLimit) return [];
  if (operation === null) return [`answered ${status} where nothing is declared`];
  const problems: string[] = [];
  if (status < 300 && caller.isBreach(operation)) problems.push(`let ${caller.name} do ${operation.id}`);
  const check = operation.answers.get(status);
  if (check === undefined)
    return [...problems, `${operation.id} answered ${status} ${codeOf(answer)}, which it does not declare`];
  const types = operation.types.get(status) ?? [];
  const told = String(answer.headers['content-type'] ?? '');
  // Where the query chooses the type, the schema is that of JSON.
  if (check !== null && (types.length === 1 || /^application\/(scim\+)?json/.test(told))) {
    if (!check.Check(answer.json)) {
      const [first] = check.Errors(answer.json)[1].filter(({ keyword }) => keyword !== 'boolean');
      const where = `${first?.instancePath} ${first?.message}`;
      problems.push(`${operation.id} answered ${status} ${codeOf(answer)} unlike its schema: ${where}`);
    }
  } else if (status === 204 && answer.bytes.length > 0) problems.push('204 with a body');
  if (types.length > 0 && !types.some((type) => told.startsWith(type)))
    problems.push(`${operation.id} answered with type ${told}`);
  return problems;
}

/** The errors of SCIM have a form of their own. */
function isScimError({ status, json }: Answer): boolean {
  const { schemas, status: told } = Object(json) as { schemas?: unknown; status?: unknown };
  return told === String(status) && String(schemas) === 'urn:ietf:params:scim:api:messages:2.0:Error';
}

interface ErrorBody {
  code?: unknown;
  message?: unknown;
  request_id?: unknown;
}

const ERROR_PAGE =
  /<p>(?<message>[^<]+)<\/p>\s*<p>[^<]*<code>(?<code>\w+)<\/code>[^<]*<code>(?<request_id>\w+)<\/code>/;

/** Where pages are served, somebody who accepts pages gets the error as one. */
function errorOf({ json, headers, text }: Answer): ErrorBody {
  if (String(headers['content-type']).startsWith('text/html')) return ERROR_PAGE.exec(text)?.groups ?? {};
  return (Object(json) as { error?: ErrorBody }).error ?? {};
}

export function codeOf(answer: Answer): string {
  const { code } = errorOf(answer);
  return typeof code === 'string' ? code : '';
}

/** A list has no more than the requested page, or the one that is documented. */
function problemsOfSize({ answer, sent }: Exchange, operation: Operation | null): string[] {
  const problems: string[] = [];
  if (answer.json !== undefined && answer.bytes.length > ANSWER_BYTES_MAX)
    problems.push(`${answer.bytes.length} bytes`);
  const limit = operation?.parameters.find((one) => one.in === 'query' && one.name === 'limit');
  if (limit === undefined || answer.status >= 300 || answer.json === undefined) return problems;
  const requested = new URLSearchParams(sent.path.split('?')[1] ?? '').get('limit');
  const most = Math.min(Number(requested || PAGE_DEFAULT), limit.schema.maximum ?? PAGE_DEFAULT);
  for (const [name, list] of Object.entries(answer.json as object)) {
    if (Array.isArray(list) && list.length > most) problems.push(`${list.length} ${name} on a page of ${most}`);
  }
  return problems;
}

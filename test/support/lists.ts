import assert from 'node:assert/strict';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { placeOfCursor } from '../../server/src/kernel/request/list-cursor.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { INPUTS, type Input, nameOf } from './endpoint-inputs.ts';
import { type Side, send, senderOf } from './isolation.ts';
import type { Answer, Service } from './service.ts';

/** An installation that is in no region has nothing of these; test/regions.test.ts is about them. */
export const BETWEEN_REGIONS = 'regions';

/** Those of people that come in pages; machines' have their own tests. */
export const LISTS = DECLARATIONS.filter(
  (declaration) =>
    declaration.credentials.includes('pat') &&
    placeOfCursor(declaration) !== null &&
    declaration.noun !== BETWEEN_REGIONS,
);

export function withQuery(declaration: EndpointDeclaration, input: Input, more: Record<string, string>): Input {
  if (placeOfCursor(declaration) === 'query') return { ...input, query: { ...input.query, ...more } };
  const { limit: _, ...inBody } = more;
  return { ...input, body: { ...(input.body as object), ...inBody } };
}

/** The rows of a page, whatever they are called. */
export function rowsIn(answer: Answer['body']): Answer['body'][] {
  const [rows] = Object.values(answer).filter((value) => Array.isArray(value));
  assert.ok(rows !== undefined, JSON.stringify(answer));
  return rows;
}

export const keyOf = (row: Answer['body']) =>
  String(row.id ?? row.user_id ?? row.key_id ?? row.key_name ?? row.path ?? row.name ?? row.version);

/** Through what makes the list's things, or, if nothing does, through what needs one. */
export async function addToList(service: Service, list: EndpointDeclaration, side: Side): Promise<void> {
  if (list.tenant === 'operator' && side.token !== service.adminToken) return;
  const making = DECLARATIONS.find(({ method, path }) => method === 'POST' && path === list.path);
  if (making !== undefined) await send(service, making, await ownInput(making, side), side.token);
  else await INPUTS[`GET ${list.path}/{${list.noun.slice(0, -1)}_id}`]?.(side.world, senderOf(side));
}

export async function ownInput(declaration: EndpointDeclaration, side: Side): Promise<Input> {
  return (await INPUTS[nameOf(declaration)]?.(side.world, senderOf(side))) ?? {};
}

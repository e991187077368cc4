import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { named } from '../../kernel/request/named-schemas.ts';
import { object, oneOf } from '../../kernel/request/wire.ts';
import {
  type CellKind,
  type Operation,
  REGION_NAME,
  SIGNATURE_LENGTH_MAX,
  VALUE_LENGTH_MAX,
} from './crdt/operation.ts';
import type { Vector } from './crdt/vector.ts';
import { RefusedBatch } from './directory.ts';

/** Operations in one page of a pull. */
export const OPERATIONS_MAX = 200;
/** Operations in one push, which must fit into the body of a caller who is not known yet. */
export const PUSHED_MAX = 10;
const ORIGINS_MAX = 64;
const VECTOR_FORM = /^(?:[a-z][a-z0-9-]{0,31}:\d{1,16}(?:,[a-z][a-z0-9-]{0,31}:\d{1,16}){0,63})?$/;
export const VECTOR_LENGTH_MAX = ORIGINS_MAX * 50;

const KINDS = ['tenant', 'primary', 'head', 'public_key', 'revoked_token'] as const satisfies readonly CellKind[];

export const regionNameText = Type.String({
  pattern: REGION_NAME.source,
  maxLength: 32,
  description: 'The name of a region.',
});

export const RegionOperation = named(
  'RegionOperation',
  'One write to the directory that regions share, signed by the region that made it.',
  object({
    origin: regionNameText,
    seq: Type.Integer({ minimum: 1, description: 'Its number among the operations of its origin.' }),
    ms: Type.Integer({ minimum: 0, description: 'The time of the origin’s hybrid logical clock, in milliseconds.' }),
    counter: Type.Integer({ minimum: 0, description: 'Tells operations of the same millisecond apart.' }),
    kind: oneOf(KINDS, 'What is written.'),
    key: Type.String({ minLength: 1, maxLength: 128, description: 'The id of the tenant, key or token.' }),
    tag: Type.String({ maxLength: 64, description: 'The addition to a set that this is about; otherwise empty.' }),
    isRemoved: Type.Boolean({ description: 'Whether that addition is removed.' }),
    value: Type.String({ maxLength: VALUE_LENGTH_MAX, description: 'JSON.' }),
    signature: Type.String({ maxLength: SIGNATURE_LENGTH_MAX, description: 'Base64.' }),
  }),
);

const VectorEntry = named(
  'RegionVectorEntry',
  'Up to which number the operations of an origin are included.',
  object({ origin: regionNameText, seq: Type.Integer({ minimum: 0, description: 'The number.' }) }),
);

export const SyncPageBody = named(
  'RegionSyncPage',
  'What a region lacks of the directory, or as much as fits.',
  object({
    region: regionNameText,
    operations: Type.Array(RegionOperation, { maxItems: OPERATIONS_MAX, description: 'By origin and number.' }),
    vector: Type.Array(VectorEntry, { maxItems: ORIGINS_MAX, description: 'What the caller has with these.' }),
    complete: Type.Boolean({ description: 'False if there is more.' }),
    digest: Type.Union([Type.String({ pattern: '^[0-9a-f]{64}$' }), Type.Null()], {
      description: 'A digest of the whole directory, if it was asked for.',
    }),
  }),
);
type WirePage = Static<typeof SyncPageBody>;

export interface SyncPage extends Omit<WirePage, 'vector' | 'operations'> {
  operations: Operation[];
  vector: Vector;
}

const PAGE = Compile(SyncPageBody);

/** A page as another region sent it: nothing about it is trusted. */
export function readPage(received: unknown): SyncPage {
  if (!PAGE.Check(received)) throw new RefusedBatch('malformed', 'the answer is not a page of the directory');
  const page = received as WirePage;
  return { ...page, vector: new Map(page.vector.map(({ origin, seq }) => [origin, seq])) };
}

export function vectorText(vector: Vector): string {
  return [...vector].map(([origin, seq]) => `${origin}:${seq}`).join(',');
}

export function parseVector(text: string): Vector | null {
  if (!VECTOR_FORM.test(text)) return null;
  if (text === '') return new Map();
  const entries = text.split(',').map((entry) => {
    const [origin = '', seq = ''] = entry.split(':');
    return [origin, Number(seq)] as const;
  });
  const vector = new Map(entries);
  return vector.size === entries.length && entries.every(([, seq]) => Number.isSafeInteger(seq)) ? vector : null;
}

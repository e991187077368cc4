import { Compile } from 'typebox/compile';
import { RefusedBatch } from './acceptance.ts';
import type { Operation } from './crdt/operation.ts';
import type { Vector } from './crdt/vector.ts';
import { SyncPageBody, type WirePage } from './schemas.ts';

const VECTOR_FORM = /^(?:[a-z][a-z0-9-]{0,31}:\d{1,16}(?:,[a-z][a-z0-9-]{0,31}:\d{1,16}){0,63})?$/;

export interface SyncPage extends Omit<WirePage, 'vector' | 'operations' | 'pushed'> {
  operations: Operation[];
  pushed: Operation[];
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

import { unavailable } from '../../../kernel/base/errors.ts';
import { nextIteration, TimeSlice } from '../../../kernel/fairness/time-slice.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { secretResource } from '../location.ts';
import { parseTemplate, type Reference } from '../value/reference-text.ts';
import { VALUE_BYTES_MAX } from '../value/secret-types.ts';
import { isTemplate, keyOf, loadParts, openParts, type Part, type PartReader, type Written } from './parts.ts';
import { type Named, TemplateProblem } from './template-problem.ts';

export interface ResolvedTemplate {
  value: string;
  parts: Part[];
}

/** The reader of one request, by one action. */
export function callerAsReader(ctx: Context, action: string): PartReader {
  const mayRead: PartReader['mayRead'] = ({ vault, path }, attributes) =>
    ctx.access.may(action, secretResource(vault, path), attributes);
  return { action, mayRead, mayStillRead: mayRead };
}

/** Throws a `TemplateProblem` if a part may not be read or used. */
export async function resolveTemplate(ctx: Context, whole: Written, reader: PartReader): Promise<ResolvedTemplate> {
  const parts = await loadParts(ctx, whole, reader);
  return { value: await fillTemplate(ctx, whole, parts, reader), parts };
}

/** The text with the values of these parts, which were loaded for it before. */
export async function fillTemplate(
  ctx: Context,
  whole: Pick<Written, 'text'>,
  parts: readonly Part[],
  reader: PartReader,
): Promise<string> {
  const values = new Values();
  const templates: { at: Named; text: string }[] = [];
  let count = 0;
  for await (const opened of openParts(ctx, parts, reader)) {
    for (const { row, value } of opened) {
      count++;
      if (isTemplate(row)) templates.push({ at: row, text: value });
      else values.set(row, value);
    }
  }
  if (count < parts.length) throw changedMeanwhile();
  const slice = new TimeSlice(nextIteration);
  for (const { at, text } of templates) values.set(at, await filled(text, values, slice));
  return filled(whole.text, values, slice);
}

function changedMeanwhile() {
  return unavailable('A secret that the template refers to changed during the read: repeat the request.');
}

async function filled(text: string, values: Values, slice: TimeSlice): Promise<string> {
  const pieces: string[] = [];
  let bytes = Buffer.byteLength(text);
  let end = 0;
  for (const reference of parseTemplate(text).references) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const value = values.at(reference);
    bytes += Buffer.byteLength(value);
    if (bytes > VALUE_BYTES_MAX) throw TemplateProblem.of('too_large', reference);
    pieces.push(text.slice(end, reference.start), value);
    end = reference.end;
  }
  pieces.push(text.slice(end));
  return pieces.join('');
}

/** A value of which fields are used is parsed in one step, so a longer one is refused. */
const JSON_LENGTH_MAX = 64 * 1024;

/** The values of parts. One that is JSON is parsed once, and each of its fields written once, however many are used. */
class Values {
  readonly #texts = new Map<string, string>();
  readonly #parsed = new Map<string, unknown>();
  readonly #fields = new Map<string, string>();

  set(at: Named, text: string): void {
    this.#texts.set(keyOf(at), text);
  }

  at(reference: Reference): string {
    const key = keyOf(reference);
    const text = this.#texts.get(key);
    if (text === undefined) throw changedMeanwhile();
    if (reference.fields.length === 0) return text;
    if (text.length > JSON_LENGTH_MAX) throw TemplateProblem.of('too_large', reference);
    const field = JSON.stringify([key, ...reference.fields]);
    const known = this.#fields.get(field);
    if (known !== undefined) return known;
    if (!this.#parsed.has(key)) this.#parsed.set(key, parsedJson(text));
    let value = this.#parsed.get(key);
    for (const field of reference.fields) {
      const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, field);
      if (!isThere) throw TemplateProblem.of('no_field', reference);
      value = (value as Record<string, unknown>)[field];
    }
    const written = typeof value === 'string' ? value : JSON.stringify(value);
    this.#fields.set(field, written);
    return written;
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Each part is recorded as read, by its own name. `isListed` says whether that holds for vaults whose reads are only counted, too. */
export function recordParts(ctx: Context, template: string, parts: readonly Part[], isListed = false): void {
  for (const { vault, path, secret_id: secret, version, log_reads } of parts) {
    if (log_reads === 1 || isListed) {
      const details = { secret, version, via: 'template', template };
      ctx.record.addEntry('secrets:read', secretResource(vault, path), details);
    } else ctx.record.countUnlisted(vault, 1);
  }
}

/** What a response says about the parts of a value. */
export function provenanceOf(parts: readonly Part[]) {
  return parts.map(({ vault, path, secret_id: id, version }) => ({ vault, path, id, version }));
}

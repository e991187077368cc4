import type { SourceEntry } from './source.ts';

const KEYS_MAX = 64;
const BYTES_MAX = 4096;
const TEXT_MAX = 1024;
const OWNER_MAX = 254;
const TAGS_MAX = 64;
const TAG_MAX = 128;

export interface TargetMetadata {
  metadata: Record<string, string | string[]>;
  /** What of it does not fit, by name, and why. */
  skipped: { name: string; reason: string }[];
}

/** The metadata of a secret in Coffer for that of an entry elsewhere: what does not fit is named. */
export function targetMetadata({ metadata, tags }: Pick<SourceEntry, 'metadata' | 'tags'>): TargetMetadata {
  const accepted = new Map<string, string | string[]>();
  const skipped: TargetMetadata['skipped'] = [];
  let bytes = 0;
  for (const [name, text] of Object.entries(metadata)) {
    const size = Buffer.byteLength(JSON.stringify({ [name]: text }));
    const problem = problemOf(name, text) ?? (accepted.size >= KEYS_MAX || bytes + size > BYTES_MAX ? TOO_MUCH : null);
    if (problem !== null) skipped.push({ name, reason: problem });
    else accepted.set(name, text);
    if (problem === null) bytes += size;
  }
  const fitting = [...new Set(tags)].filter((tag) => isLine(tag, TAG_MAX) && tag !== '' && !tag.includes(','));
  for (const tag of tags) {
    if (!fitting.includes(tag)) skipped.push({ name: 'a tag', reason: 'it is empty, too long, or has a comma' });
  }
  if (fitting.length > TAGS_MAX) skipped.push({ name: 'tags', reason: `there are more than ${TAGS_MAX}` });
  if (fitting.length > 0) accepted.set('tags', fitting.slice(0, TAGS_MAX));
  return { metadata: Object.fromEntries(accepted), skipped };
}

const TOO_MUCH = 'a secret has at most 64 fields of metadata, and 4 KiB in all';

function problemOf(name: string, text: string): string | null {
  if (name === 'tags') return 'Coffer keeps its own tags under this name';
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return 'its name has characters that metadata cannot have';
  if (name === 'owner' && !isLine(text, OWNER_MAX)) return `an owner is one line of at most ${OWNER_MAX} characters`;
  return text.length > TEXT_MAX || text.includes('\0') ? `it is longer than ${TEXT_MAX} characters` : null;
}

function isLine(text: string, lengthMax: number): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a line must not have
  return text.length <= lengthMax && !/[\u0000-\u001f\u007f]/.test(text);
}

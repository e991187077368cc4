import { randomBytes, scryptSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { CommandError } from '../failure.ts';
import type { Finding } from './findings.ts';

/**
 * Findings that were reviewed and accepted, as fingerprints. The file is committed, so each fingerprint is slow to compute: a password that a
 * person chose should not be found by trying a dictionary.
 */
export interface Baseline {
  salt: Buffer;
  fingerprints: Set<string>;
}

const COST = { N: 2 ** 13, r: 8, p: 1 };
const FINGERPRINT_BYTES = 8;
const SALT_BYTES = 16;

export function readBaseline(file: string): Baseline {
  if (!existsSync(file)) throw new CommandError(`There is no baseline ${file}. Write one with --update-baseline.`);
  try {
    const { version, salt, fingerprints } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    const isValid =
      version === 1 && typeof salt === 'string' && /^[0-9a-f]{32}$/.test(salt) && Array.isArray(fingerprints);
    if (isValid) return { salt: Buffer.from(salt, 'hex'), fingerprints: new Set(fingerprints.map(String)) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new CommandError(`${file} is not a baseline of coffer scan. Write it again with --update-baseline.`);
}

export function newBaseline(): Baseline {
  return { salt: randomBytes(SALT_BYTES), fingerprints: new Set() };
}

/** The same value is the same finding wherever it is, so that moving a file changes nothing. */
export function fingerprintOf(
  { kind, value }: Pick<Finding, 'kind' | 'value'>,
  { salt }: Baseline,
  known: Map<string, string>,
): string {
  const key = `${kind}\0${value}`;
  const fingerprint = known.get(key) ?? scryptSync(key, salt, FINGERPRINT_BYTES, COST).toString('hex');
  known.set(key, fingerprint);
  return fingerprint;
}

export function writeBaseline(file: string, { salt, fingerprints }: Baseline): void {
  const content = { version: 1, salt: salt.toString('hex'), fingerprints: [...fingerprints].sort() };
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

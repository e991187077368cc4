import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../client/src/node/index.ts';
import { CommandError } from './failure.ts';
import { configFolder } from './profiles.ts';
import type { Selection } from './selection.ts';
import type { Settings } from './settings.ts';
import type { Variables } from './variables.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const CLOCK_SLACK_MS = 5 * 60_000;

/**
 * The secrets of the last run, for a time without the service. They are encrypted under a key that is derived from the credential: without the
 * session nobody can read them, and after logging out and in again neither can its owner.
 */
export class OfflineCopy {
  readonly #file: string;
  readonly #key: Buffer;

  constructor({ url, auth }: Settings, selection: Selection, only: readonly string[] | undefined) {
    const what = JSON.stringify([url, selection, only ?? null]);
    const name = createHash('sha256').update(what).digest('hex').slice(0, 32);
    this.#file = join(configFolder(), 'offline', name);
    this.#key = Buffer.from(hkdfSync('sha256', credentialOf(auth), what, 'coffer offline copy', 32));
  }

  write(variables: Variables): void {
    mkdirSync(join(configFolder(), 'offline'), { recursive: true, mode: 0o700 });
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const text = JSON.stringify({ readAt: new Date().toISOString(), variables: [...variables] });
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    writePrivateFile(this.#file, sealed.toString('base64'));
  }

  /** Null if there is none, if it is too old, or if it is not of this session. */
  read(hoursMax: number, now: number = Date.now()): { readAt: string; variables: Variables } | null {
    let sealed: Buffer;
    try {
      sealed = Buffer.from(readFileSync(this.#file, 'utf8'), 'base64');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, IV_BYTES));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      const { readAt, variables } = JSON.parse(text.toString('utf8')) as {
        readAt: string;
        variables: [string, string][];
      };
      const age = now - Date.parse(readAt);
      // A copy from the future means that the clock was set back, perhaps to make an old one count as new.
      if (age > hoursMax * 3_600_000 || age < -CLOCK_SLACK_MS) return null;
      return { readAt, variables: new Map(variables) };
    } catch {
      return null;
    }
  }

  remove(): void {
    rmSync(this.#file, { force: true });
  }
}

function credentialOf(auth: Settings['auth']): string {
  const part = 'token' in auth ? auth.token : 'clientSecret' in auth ? auth.clientSecret : null;
  if (typeof part === 'string') return part;
  const text = part?.();
  // Workloads and CI jobs have another credential each time, and no trains.
  if (typeof text !== 'string')
    throw new CommandError('--offline needs a token or a client secret, whose key it can use.');
  return text;
}

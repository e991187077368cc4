import { createHash } from 'node:crypto';
import { existsSync, globSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../kernel/observability/log.ts';
import { buildConsole } from './console-build.ts';

/** In an installed package the built console is in its own folder. A checkout has its sources, and builds it into the same folder there. */
const PACKED_FOLDER = join(import.meta.dirname, '../../../console');
const SOURCE_FOLDER = join(import.meta.dirname, '../../../../console');

export interface Manifest {
  /** What the build was made of; see `fingerprintOf`. */
  readonly sources: string;
  readonly script: string;
  readonly style: string;
  /** The style of what somebody sees who is signed in. */
  readonly frameStyle: string;
  readonly icons: string;
  /** Scripts that are needed at once, or first. */
  readonly preload: readonly string[];
  /** Scripts of the frame, which are requested with it instead of after it. */
  readonly framePreload: readonly string[];
  readonly files: readonly string[];
}

/**
 * The built files of the console. In a checkout they are built when the service starts, if the sources changed. They are read from the disk for each
 * page, because another service of the same checkout may have built them again.
 */
export class ConsoleFiles {
  readonly #log: Logger;
  readonly #folder: string;
  readonly #isCheckout: boolean;
  #building: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
    this.#isCheckout = !existsSync(PACKED_FOLDER);
    this.#folder = this.#isCheckout ? join(SOURCE_FOLDER, 'dist') : PACKED_FOLDER;
  }

  /** Builds if what was built before is older than the sources. The service does not wait for it. */
  async open(): Promise<void> {
    if (!this.#isCheckout) return;
    const sources = fingerprintOf();
    if ((await this.#read())?.sources !== sources) this.#building = this.#build(sources);
  }

  /** Null if the console is not built. */
  async manifest(): Promise<Manifest | null> {
    await this.#building;
    return this.#read();
  }

  /** A file that the page names, as it is or compressed; null if there is no such file any more. */
  async file(name: string, isCompressed: boolean): Promise<Uint8Array | null> {
    const manifest = await this.manifest();
    if (manifest === null || !manifest.files.includes(name)) return null;
    return this.#bytes(isCompressed ? `${name}.br` : name);
  }

  settled(): Promise<void> {
    return this.#building;
  }

  async #read(): Promise<Manifest | null> {
    const bytes = await this.#bytes('manifest.json');
    return bytes === null ? null : (JSON.parse(bytes.toString('utf8')) as Manifest);
  }

  async #bytes(name: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.#folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  /** If it fails, only the console is missing, or as it was before. */
  async #build(sources: string): Promise<void> {
    try {
      await buildConsole(SOURCE_FOLDER, sources);
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string };
      this.#log.warn(
        {
          reason: stderr || message,
          what_to_do: 'run `npm ci`, then `node console/build.ts` to see why; the API is not affected',
        },
        'the console cannot be built',
      );
    }
  }
}

/** Builds the console of a checkout if it is older than its sources, so that services that start later need not. */
export async function prepareConsole(log: Logger): Promise<void> {
  const files = new ConsoleFiles(log);
  await files.open();
  await files.settled();
}

/** Changes whenever a source file is added, removed or written. */
function fingerprintOf(): string {
  const digest = createHash('sha256');
  for (const pattern of ['build.ts', 'package.json', 'src/**/*.{ts,tsx,css}', '../client/src/**/*.ts']) {
    for (const path of globSync(pattern, { cwd: SOURCE_FOLDER }).toSorted()) {
      const { size, mtimeMs } = statSync(join(SOURCE_FOLDER, path));
      digest.update(`${path} ${size} ${mtimeMs}\n`);
    }
  }
  return digest.digest('base64url');
}

import { link, lstat, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { hexDigest, OBJECT_NAME } from './archive-object.ts';

/** Where archive objects are stored. */
export interface ArchiveTarget {
  /** For messages; without credentials. */
  readonly name: string;
  /** Stores an object durably under a name that is not taken yet. Returns false, and changes nothing, if it is. */
  write(name: string, object: Uint8Array): Promise<boolean>;
  /** Null if there is no such object. */
  read(name: string): Promise<Buffer | null>;
  /** Deletes what writes that were interrupted have left, if it is older. */
  removeUnfinished(before: Cutoff): Promise<void>;
}

/** A file that is being written, or that a process left that was killed meanwhile. */
const UNFINISHED = new RegExp(`^\\.${OBJECT_NAME.source}\\.[0-9a-f]{12}\\.tmp$`);

/** The archive did not do what was requested. The message contains no credentials. */
export class ArchiveTargetError extends Error {}

/** Objects as files of a folder. The service does not create the folder: a disk that is not mounted should show. */
export class ArchiveFolder implements ArchiveTarget {
  readonly name: string;

  constructor(folder: string) {
    this.name = folder;
  }

  /** The file appears under its name at once, complete and on disk. */
  async write(name: string, object: Uint8Array): Promise<boolean> {
    const unfinished = join(this.name, `.${name}.${hexDigest(object).slice(0, 12)}.tmp`);
    try {
      const file = await open(unfinished, 'w', 0o600);
      try {
        await file.writeFile(object);
        await file.sync();
      } finally {
        await file.close();
      }
      // Unlike a rename, a link never replaces a file.
      await link(unfinished, join(this.name, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(unfinished, { force: true });
    }
    const directory = await open(this.name, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
    return true;
  }

  async read(name: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.name, name));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async removeUnfinished(before: Cutoff): Promise<void> {
    for (const name of await readdir(this.name)) {
      if (!UNFINISHED.test(name)) continue;
      const path = join(this.name, name);
      try {
        const file = await lstat(path);
        if (file.isFile() && file.mtimeMs < before) await rm(path, { force: true });
      } catch (error) {
        // Another node finished it meanwhile.
        if (!isMissing(error)) throw error;
      }
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

import type { ExportedEntry } from '../exported-entry.ts';
import type { FormatName } from '../schemas.ts';
import { toCef } from './cef.ts';
import { toEcs } from './ecs.ts';
import { toNative } from './native.ts';
import { toOcsf } from './ocsf.ts';

/** An entry as a receiver gets it: an object of JSON, or one line of text. */
export type Formatted = object | string;

export function formatted(format: FormatName, entry: ExportedEntry, productVersion: string): Formatted {
  switch (format) {
    case 'native':
      return toNative(entry);
    case 'ecs':
      return toEcs(entry);
    case 'ocsf':
      return toOcsf(entry, productVersion);
    case 'cef':
      return toCef(entry, productVersion);
  }
}

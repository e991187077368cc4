import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CommandError } from '../failure.ts';
import { readStandardInput } from '../prompt.ts';
import { documentsIn } from './exact-json.ts';

const BYTES_MAX = 128 * 1024 * 1024;

/** The JSON documents of an export: a file, or standard input for `-`. */
export async function readExport(file: string): Promise<unknown[]> {
  if (file === '-') return documentsIn(await readStandardInput(), 'Standard input');
  if (statSync(file).size > BYTES_MAX) throw new CommandError(`${file} is larger than 128 MiB. Export parts of it.`);
  const bytes = await readFile(file);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new CommandError(`${file} is not UTF-8 text. Export it again, as JSON.`);
  return documentsIn(text, file);
}

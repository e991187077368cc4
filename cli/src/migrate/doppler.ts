import { CommandError } from '../failure.ts';
import { env } from '../settings.ts';
import { isObject, textOf } from './exact-json.ts';
import { readExport } from './export-file.ts';
import type { Reading, Skipped, SourceEntry } from './source.ts';
import { refusedBySource, sourceApi } from './source-api.ts';

/** Doppler adds them to every config; they say where it is, and are no secrets. */
const OWN_NAMES = new Set(['DOPPLER_PROJECT', 'DOPPLER_CONFIG', 'DOPPLER_ENVIRONMENT']);
const ADDRESS = 'https://api.doppler.com';

export interface DopplerOptions {
  file: string | null;
  project: string | null;
  config: string | null;
}

/** Reads what `doppler secrets download --no-file --format json` prints, or one config by the API. */
export async function readDoppler({ file, project, config }: DopplerOptions): Promise<Reading> {
  if (file !== null) return readingOf(await readExport(file));
  const token = env('DOPPLER_TOKEN');
  if (token === undefined)
    throw new CommandError('Give the file of an export, - for standard input, or set DOPPLER_TOKEN. See --help.');
  const api = sourceApi({
    name: 'Doppler',
    address: env('DOPPLER_API_HOST') ?? ADDRESS,
    addressVariable: 'DOPPLER_API_HOST',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  });
  const query = new URLSearchParams({ ...(project && { project }), ...(config && { config }) });
  const { status, body } = await api(`/v3/configs/config/secrets?${query}`);
  if (status !== 200 || !isObject(body) || !isObject(body['secrets']))
    throw refusedBySource(
      'Doppler',
      status,
      'the list of secrets',
      'Check DOPPLER_TOKEN; unless it is a service token, give --project and --config.',
    );
  return readingOf([body['secrets']]);
}

/** Each name has its value, or, by the API, an object with more about it. */
function readingOf(documents: readonly unknown[]): Reading {
  const entries: SourceEntry[] = [];
  const skipped: Skipped[] = [];
  for (const document of documents) {
    if (!isObject(document))
      throw new CommandError(
        'This is no export of Doppler: doppler secrets download --no-file --format json prints one object.',
      );
    for (const [name, given] of Object.entries(document)) {
      const { value, note } = isObject(given)
        ? { value: given['computed'] ?? given['raw'], note: given['note'] }
        : { value: given, note: '' };
      if (OWN_NAMES.has(name)) skipped.push({ from: name, reason: 'Doppler adds it by itself, and it is no secret' });
      else if (value === null || value === undefined)
        skipped.push({ from: name, reason: 'its value is restricted: this token may not read it' });
      else {
        const metadata = typeof note === 'string' && note !== '' ? { description: note } : {};
        entries.push({
          origin: name,
          names: [name],
          versions: [{ label: 'the current value', data: { value: textOf(value) } }],
          metadata: { ...metadata },
          tags: [],
        });
      }
    }
  }
  return { entries, skipped };
}

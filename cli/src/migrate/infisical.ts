import { CommandError } from '../failure.ts';
import { env } from '../settings.ts';
import { isObject, textOf } from './exact-json.ts';
import { readExport } from './export-file.ts';
import type { Reading, Skipped, SourceEntry } from './source.ts';
import { refusedBySource, type SourceAnswer, sourceApi } from './source-api.ts';

export interface InfisicalOptions {
  file: string | null;
  project: string | null;
  environment: string | null;
  /** The folder to begin at, by the API. */
  folder: string;
}

const ADDRESS = 'https://app.infisical.com';

/** Reads what `infisical export --format=json` prints, or an environment of a project with its folders by the API. */
export async function readInfisical(options: InfisicalOptions): Promise<Reading> {
  if (options.file !== null) {
    const documents = await readExport(options.file);
    return readingOf(documents.flatMap((document) => (Array.isArray(document) ? document : entriesOfMap(document))));
  }
  return readingOf(await secretsByApi(options));
}

/** Newer versions of their command print an object of names and values if they are told to. */
function entriesOfMap(document: unknown): unknown[] {
  if (!isObject(document) || Object.values(document).some((value) => typeof value !== 'string'))
    throw new CommandError(
      'This is no export of Infisical: infisical export --format=json prints a list of objects with key and value.',
    );
  return Object.entries(document).map(([key, value]) => ({ key, value }));
}

async function secretsByApi({ project, environment, folder }: InfisicalOptions): Promise<unknown[]> {
  const token = env('INFISICAL_TOKEN');
  if (token === undefined)
    throw new CommandError('Give the file of an export, - for standard input, or set INFISICAL_TOKEN. See --help.');
  if (project === null || environment === null)
    throw new CommandError('Give --project ID and --environment SLUG: the API of Infisical asks for both.');
  const api = sourceApi({
    name: 'Infisical',
    // Their command line takes the address with or without /api.
    address: (env('INFISICAL_API_URL') ?? ADDRESS).replace(/\/api\/?$/, ''),
    addressVariable: 'INFISICAL_API_URL',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  });
  const common = {
    environment,
    secretPath: folder,
    recursive: 'true',
    viewSecretValue: 'true',
    expandSecretReferences: 'true',
  };
  const fourth = new URLSearchParams({ ...common, projectId: project, includeImports: 'false' });
  let answer: SourceAnswer = await api(`/api/v4/secrets?${fourth}`);
  if (answer.status === 404) {
    // Installations from before 2025 know the third version of the API only.
    const third = new URLSearchParams({ ...common, workspaceId: project, include_imports: 'false' });
    answer = await api(`/api/v3/secrets/raw?${third}`);
  }
  const { status, body } = answer;
  if (status !== 200 || !isObject(body) || !Array.isArray(body['secrets']))
    throw refusedBySource(
      'Infisical',
      status,
      'the list of secrets',
      'Check INFISICAL_TOKEN, --project and --environment.',
    );
  return body['secrets'];
}

function readingOf(list: readonly unknown[]): Reading {
  const entries: SourceEntry[] = [];
  const skipped: Skipped[] = [];
  for (const [i, one] of list.entries()) {
    const name = isObject(one) ? (one['key'] ?? one['secretKey']) : null;
    if (!isObject(one) || typeof name !== 'string')
      throw new CommandError(
        `This is no export of Infisical: entry ${i + 1} has no key. Export it with --format=json.`,
      );
    const folders = folderNames(one['secretPath']);
    const origin = `/${[...folders, name].join('/')}`;
    const value = one['value'] ?? one['secretValue'];
    if (one['type'] === 'personal') skipped.push({ from: origin, reason: 'it is an override of one person' });
    else if (one['secretValueHidden'] === true)
      skipped.push({ from: origin, reason: 'this token may not read its value' });
    else if (value === undefined || value === null) skipped.push({ from: origin, reason: 'it has no value' });
    else {
      const versions = [{ label: 'the current value', data: { value: textOf(value) } }];
      entries.push({
        origin,
        names: [...folders, name],
        versions,
        metadata: metadataOf(one),
        tags: tagsOf(one['tags']),
      });
    }
  }
  return { entries, skipped };
}

function folderNames(path: unknown): string[] {
  return typeof path === 'string' ? path.split('/').filter((name) => name !== '') : [];
}

function metadataOf(one: Record<string, unknown>): Record<string, string> {
  const comment = one['comment'] ?? one['secretComment'];
  const pairs = Array.isArray(one['secretMetadata']) ? one['secretMetadata'].filter(isObject) : [];
  return Object.fromEntries([
    ...(typeof comment === 'string' && comment !== '' ? [['description', comment]] : []),
    ...pairs.map(({ key, value }) => [textOf(key ?? ''), textOf(value ?? '')]),
  ]);
}

function tagsOf(tags: unknown): string[] {
  return Array.isArray(tags) ? tags.filter(isObject).map(({ slug, name }) => textOf(slug ?? name ?? '')) : [];
}

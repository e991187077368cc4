import { CommandError } from '../failure.ts';
import { isObject, parseExactly, textOf } from './exact-json.ts';
import { readExport } from './export-file.ts';
import type { Reading, Skipped, SourceVersion } from './source.ts';
import { keysIn } from './wanted-secrets.ts';

const CURRENT = 'AWSCURRENT';

interface Value {
  name: string;
  stages: string[];
  createdAt: number;
  version: SourceVersion;
  metadata: Record<string, string>;
}

/**
 * Reads what `aws secretsmanager batch-get-secret-value` and `get-secret-value` print, one or several outputs after the other. Two outputs about one
 * secret, such as its AWSPREVIOUS and AWSCURRENT versions, are its history.
 */
export async function readAwsSecretsManager(file: string): Promise<Reading> {
  const skipped: Skipped[] = [];
  const values = (await readExport(file)).flatMap((document) => readValues(document, skipped));
  const byName = Map.groupBy(values, ({ name }) => name);
  const entries = [...byName].flatMap(([name, all]) => {
    const usable = all.filter(({ stages }) => !stages.includes('AWSPENDING') || stages.includes(CURRENT));
    for (const { version } of all.filter((one) => !usable.includes(one)))
      skipped.push({ from: `${name}, ${version.label}`, reason: 'its rotation is not finished (AWSPENDING)' });
    // The current one comes last, whatever its age is: a stage can be moved back.
    const isCurrent = ({ stages }: Value) => (stages.length === 0 || stages.includes(CURRENT) ? 1 : 0);
    const versions = usable.toSorted((a, b) => isCurrent(a) - isCurrent(b) || a.createdAt - b.createdAt);
    const newest = versions.at(-1);
    if (newest === undefined) return [];
    if (isCurrent(newest) === 0) {
      skipped.push({ from: name, reason: `the export has no version of it that is ${CURRENT}` });
      return [];
    }
    const names = name.split('/').filter((part) => part !== '');
    return [
      { origin: name, names, versions: versions.map(({ version }) => version), metadata: newest.metadata, tags: [] },
    ];
  });
  return { entries, skipped };
}

function readValues(document: unknown, skipped: Skipped[]): Value[] {
  const list = isObject(document) && Array.isArray(document['SecretValues']) ? document['SecretValues'] : [document];
  const errors = isObject(document) && Array.isArray(document['Errors']) ? document['Errors'] : [];
  for (const error of errors.filter(isObject))
    skipped.push({
      from: textOf(error['SecretId'] ?? ''),
      reason: `AWS did not give it out: ${textOf(error['ErrorCode'] ?? '')}`,
    });
  if (isObject(document) && typeof document['NextToken'] === 'string')
    skipped.push({ from: 'the rest of the list', reason: 'the export ends with a NextToken: export all pages' });
  return list.flatMap((one) => readValue(one, skipped));
}

function readValue(one: unknown, skipped: Skipped[]): Value[] {
  if (!isObject(one) || typeof one['Name'] !== 'string')
    throw new CommandError(
      'This is no output of aws secretsmanager batch-get-secret-value or get-secret-value: an entry has no Name.',
    );
  const { Name: name, SecretString: text, SecretBinary: binary, VersionId: id, VersionStages: stages } = one;
  const label = typeof id === 'string' ? `version ${id}` : 'its version';
  if (typeof text !== 'string' && typeof binary !== 'string') {
    skipped.push({ from: `${name}, ${label}`, reason: 'it has no value' });
    return [];
  }
  const keys = typeof text === 'string' ? keysIn(text, parseExactly) : null;
  const data = keys === null ? { value: String(text ?? binary) } : { keys };
  const createdAt =
    typeof one['CreatedDate'] === 'number' ? one['CreatedDate'] * 1000 : Date.parse(textOf(one['CreatedDate'] ?? ''));
  return [
    {
      name,
      stages: Array.isArray(stages) ? stages.map(textOf) : [],
      createdAt: Number.isFinite(createdAt) ? createdAt : 0,
      version: { label, data },
      metadata: typeof text === 'string' ? {} : { encoding: 'base64' },
    },
  ];
}

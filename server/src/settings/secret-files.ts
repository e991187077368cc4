import { readFileSync } from 'node:fs';
import { SETTINGS, type Setting } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const OWN: readonly string[] = SETTINGS.map(({ name }) => name);

/** The name of the setting with `_FILE`, which names a file that contains the value; null if it is a setting of its own, or the value is in no file. */
export function fileNameOf({ name, secret, fromFile }: Pick<Setting, 'name' | 'secret' | 'fromFile'>): string | null {
  const fileName = `${name}_FILE`;
  return (secret || fromFile === true) && !OWN.includes(fileName) ? fileName : null;
}

export const FILE_NAMES: readonly string[] = SETTINGS.flatMap((setting) => fileNameOf(setting) ?? []);

/** The environment with the contents of these files, as container platforms mount secrets. A final line break is not part of a value. */
export function withSecretFiles(env: Environment, problems: string[]): Environment {
  const filled: Record<string, string | undefined> = { ...env };
  for (const setting of SETTINGS) {
    const fileName = fileNameOf(setting);
    const file = fileName === null ? undefined : env[fileName];
    if (fileName === null || !file) continue;
    if (env[setting.name]) problems.push(`${setting.name} and ${fileName} exclude each other: set one.`);
    else filled[setting.name] = contentOf(file, fileName, problems);
  }
  return filled;
}

function contentOf(file: string, fileName: string, problems: string[]): string | undefined {
  try {
    const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (content === '') problems.push(`${fileName} names a file that is empty.`);
    return content;
  } catch (error) {
    problems.push(`${fileName} names a file that cannot be read (${(error as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

import { readFileSync } from 'node:fs';
import type { Setting } from './setting.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the settings with `_FILE`, each of which names a file that contains the value. A setting of that name, or a value that is in no file, has none. */
export function fileNames(settings: readonly Setting[]): readonly string[] {
  return [...namesBySetting(settings).values()];
}

function namesBySetting(settings: readonly Setting[]): ReadonlyMap<Setting, string> {
  const own = new Set<string>(settings.map(({ name }) => name));
  const readable = settings.filter(({ secret, fromFile }) => secret || fromFile === true);
  const named = readable.map((setting) => [setting, `${setting.name}_FILE`] as const);
  return new Map(named.filter(([, fileName]) => !own.has(fileName)));
}

/** The environment with the contents of these files, as container platforms mount secrets. A final line break is not part of a value. */
export function withSecretFiles(env: Environment, settings: readonly Setting[], problems: string[] = []): Environment {
  const filled: Record<string, string | undefined> = { ...env };
  for (const [setting, fileName] of namesBySetting(settings)) {
    const file = env[fileName];
    if (!file) continue;
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

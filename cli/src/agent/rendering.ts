import { type Coffer, parseReference } from '../../../client/src/index.ts';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { CommandError } from '../failure.ts';
import { readTextFile } from '../prompt.ts';
import { referencesIn, renderTemplate } from '../template.ts';

/** A file to write from a template, each time a secret in it changes. */
export interface Template {
  source: string;
  target: string;
  mode: number;
}

/** `SOURCE:TARGET[:MODE]`; the mode is 600 unless given, and never lets others write. */
export function parseTemplate(text: string): Template {
  const { source, target, mode } =
    /^(?<source>[^:]+):(?<target>[^:]+)(?::(?<mode>0?[0-7]{3}))?$/.exec(text)?.groups ?? {};
  if (source === undefined || target === undefined)
    throw new CommandError(`"${text}" is not a template. Give SOURCE:TARGET or SOURCE:TARGET:MODE.`);
  const bits = Number.parseInt(mode ?? '600', 8);
  if ((bits & 0o022) !== 0) throw new CommandError(`Mode ${mode} would let others write ${target}.`);
  return { source, target, mode: bits };
}

export interface Rendered {
  template: Template;
  text: string;
}

/** All templates or none: a program must not find files of two different times. */
export async function renderAll(
  coffer: Coffer,
  templates: readonly Template[],
  signal: AbortSignal,
): Promise<Rendered[]> {
  const values = new Map<string, Promise<string>>();
  const resolve = (reference: string) => {
    const known = values.get(reference) ?? coffer.secrets.resolve(reference, { signal });
    values.set(reference, known);
    return known;
  };
  return Promise.all(
    templates.map(async (template) => ({
      template,
      text: (await renderTemplate(readTextFile(template.source), resolve)).text,
    })),
  );
}

/** Each file is replaced in one step. Returns the names of those that were different. */
export function writeChanged(all: readonly Rendered[], known: Map<string, string>): string[] {
  const changed = all.filter(({ template, text }) => known.get(template.target) !== text);
  for (const { template, text } of changed) {
    writePrivateFile(template.target, text, template.mode);
    known.set(template.target, text);
  }
  return changed.map(({ template }) => template.target);
}

/** What changes whenever a secret of a template does, or the template itself. It reads no values. */
export async function versionsOfTemplates(
  coffer: Coffer,
  templates: readonly Template[],
  signal: AbortSignal,
): Promise<string> {
  const texts = templates.map(({ source }) => readTextFile(source));
  const references = new Set(texts.flatMap(referencesIn).map((one) => one.replace(/#.*$/s, '')));
  const versions = await Promise.all(
    [...references].map(async (reference) => {
      const { vault, path, version } = parseReference(reference);
      if (version !== undefined) return [reference, version];
      for await (const listed of coffer.secrets.list(vault, { prefix: path, signal })) {
        if (listed.path === path) return [reference, listed.version, listed.parts_version];
      }
      return [reference, null];
    }),
  );
  return JSON.stringify([texts, versions]);
}

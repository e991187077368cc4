import { REFERENCES_IN_TEXT } from '../../client/src/index.ts';

const IN_BRACES = /\{\{\s*(coffer:\/\/[^\s{}]+)\s*\}\}/g;

/** Every reference of a text, once. */
export function referencesIn(template: string): string[] {
  const inBraces = template.matchAll(IN_BRACES).map(([, reference]) => String(reference));
  return [...new Set([...inBraces, ...(template.replaceAll(IN_BRACES, '').match(REFERENCES_IN_TEXT) ?? [])])];
}

/** Fills in every reference of a text, each requested once. References inside a value are not resolved. */
export async function renderTemplate(
  template: string,
  resolve: (reference: string) => Promise<string>,
): Promise<{ text: string; references: number }> {
  const found = referencesIn(template);
  const values = new Map(await Promise.all(found.map(async (one) => [one, await resolve(one)] as const)));
  // In one pass, so that what was filled in is not replaced again.
  const either = new RegExp(`${IN_BRACES.source}|${REFERENCES_IN_TEXT.source}`, 'g');
  const text = template.replaceAll(either, (match, inBraces?: string) => values.get(inBraces ?? match) ?? match);
  return { text, references: found.length };
}

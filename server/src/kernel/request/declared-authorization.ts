import { NONE } from '../endpoint/declaration.ts';
import type { Context } from './context.ts';

export function authorizeDeclared(ctx: Context): void {
  const { resource, credentials } = ctx.declaration;
  if (credentials === 'public') return;
  if (resource === NONE) ctx.access.authorizeCredentialOnly();
  else if (resource !== 'loaded') ctx.access.authorize(filled(partsOf(resource), ctx.call.params));
}

/** Texts, and between them the names of parameters. */
const templates = new Map<string, readonly string[]>();

function partsOf(template: string): readonly string[] {
  let parts = templates.get(template);
  if (parts === undefined) {
    parts = template.split(/\{([a-z_]+)\}/);
    templates.set(template, parts);
  }
  return parts;
}

function filled(parts: readonly string[], params: Readonly<Record<string, string>>): string {
  let text = parts[0] ?? '';
  for (let at = 1; at < parts.length; at += 2) text += (params[parts[at] ?? ''] ?? '') + parts[at + 1];
  return text;
}

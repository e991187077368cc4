import { GLOBSTAR, globMatches } from './glob.ts';
import { compileActionPattern, type Pattern } from './pattern.ts';
import type { PolicyDocument } from './policy.ts';
import { PolicyError } from './policy-error.ts';

/** Actions and resource forms that endpoints declare. All declarations are made while the modules load. */
const actions = new Set<string>();
const forms = new Set<string>();

/** Actions that only the tenant that runs the installation may do, whatever policies say. */
const operatorActions = new Set<string>();

const NO_PERMISSION = 'none';

export function addDeclaredActions(...declared: string[]): void {
  for (const action of declared) if (action !== NO_PERMISSION) actions.add(action);
}

export function addOperatorAction(action: string): void {
  operatorActions.add(action);
}

export function isForOperator(action: string): boolean {
  return operatorActions.has(action);
}

export function addDeclaredForms(...declared: string[]): void {
  for (const form of declared) if (form !== NO_PERMISSION) forms.add(form);
}

/** Every action and every form of a resource that a policy can name, in order, for editors that complete them. */
export function declaredNames(): { actions: string[]; resources: string[] } {
  const resources = [...forms].map((form) => form.replace(/\{([a-z_]+)\*?\}/g, '<$1>'));
  return { actions: [...actions].sort(), resources: [...new Set(resources)].sort() };
}

/** Rejects a rule that can never match when it is written, because a deny that denies nothing is worse than an error. */
export function refuseUndeclared({ statement }: PolicyDocument): void {
  for (const [i, { action, resource }] of statement.entries()) {
    refuseUndeclaredActions(action, `/statement/${i}/action`);
    for (const [n, text] of resource.entries()) {
      if (isDeclaredResource(text)) continue;
      throw new PolicyError(
        `/statement/${i}/resource/${n}`,
        `matches no resource of this API: did you mean ${nearestForms(text)}?`,
      );
    }
  }
}

/** Why a request can have no such action, or null. */
export function undeclaredAction(action: string): string | null {
  return actions.has(action) ? null : `is no action of this API: did you mean ${nearest(action, actions)}?`;
}

export function refuseUndeclaredActions(patterns: readonly string[], pointer: string): void {
  for (const [n, text] of patterns.entries()) {
    if (isDeclaredAction(compileActionPattern(text))) continue;
    throw new PolicyError(`${pointer}/${n}`, `matches no action of this API: did you mean ${nearestAction(text)}?`);
  }
}

function isDeclaredAction(pattern: Pattern): boolean {
  for (const action of actions) if (pattern.matches(action)) return true;
  return false;
}

/** Whether the pattern can match a resource of a form that an endpoint declares. */
export function isDeclaredResource(pattern: string): boolean {
  const segments = pattern.split('/');
  // A final `*` means one segment followed by anything.
  const parts = segments.at(-1) === '*' ? [...segments, GLOBSTAR] : segments;
  for (const form of forms) if (meets(parts, form.split('/'))) return true;
  return false;
}

/** Whether some resource matches both. For each part of the pattern, the places in the form that it may reach; `{path*}` stands for several segments. */
function meets(pattern: readonly string[], form: readonly string[]): boolean {
  let reached = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    for (let at = 0; at < form.length; at++) {
      if (!reached.has(at)) continue;
      const segment = form[at] ?? '';
      if (part === GLOBSTAR) {
        next.add(at);
        reached.add(at + 1);
      } else if (segment.endsWith('*}')) {
        next.add(at).add(at + 1);
      } else if (segment.startsWith('{') || globMatches(part, segment, 0, segment.length)) {
        next.add(at + 1);
      }
    }
    if (part === GLOBSTAR && reached.has(form.length)) next.add(form.length);
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(form.length);
}

function nearestAction(text: string): string {
  const nouns = new Set([...actions].map((action) => `${action.split(':')[0]}:*`));
  const verbs = new Set([...actions].map((action) => `*:${action.split(':')[1]}`));
  return nearest(text, [...actions, ...nouns, ...verbs]);
}

/** All forms that begin with the most similar first word. */
function nearestForms(text: string): string {
  const word = nearest(text.split('/')[0] ?? '', new Set([...forms].map((form) => form.split('/')[0] ?? '')));
  const same = [...forms].filter((form) => form === word || form.startsWith(`${word}/`)).sort();
  return same.map((form) => form.replace(/\{([a-z_]+)\*?\}/g, '<$1>')).join(' or ');
}

function nearest(text: string, candidates: Iterable<string>): string {
  let best = { candidate: '', distance: Number.POSITIVE_INFINITY };
  for (const candidate of candidates) {
    const distance = editDistance(text, candidate);
    if (distance < best.distance) best = { candidate, distance };
  }
  return best.candidate;
}

/** Levenshtein distance, computed row by row. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let n = 1; n <= other.length; n++) {
      const replaced = (row[n - 1] ?? 0) + (one[i - 1] === other[n - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[n] ?? 0) + 1, (next[n - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

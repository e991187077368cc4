import { AUDIT_WORDS } from './generated.ts';

/** A shorter common beginning is chance. */
const PREFIX_MIN = 3;

const WORDS: ReadonlyMap<string, string> = new Map(
  Object.values(AUDIT_WORDS).flatMap((group) =>
    Object.entries(group).map(([action, summary]) => [action, aboutOthers(summary)] as const),
  ),
);

/** What somebody did, in words; null for an action that only the service itself records. */
export function wordsOf(action: string): string | null {
  return WORDS.get(action) ?? null;
}

/** Endpoints are described to their caller, and after a semicolon in more detail; here it is about somebody else. */
function aboutOthers(summary: string): string {
  const [short = ''] = summary.split(';');
  return short
    .replace(' you may see', '')
    .replace(/\byour\b( own)?/g, 'their own')
    .replace(/\byou\b/g, 'they')
    .replace(/\btenant\b/g, 'organization')
    .replace(/`/g, '');
}

export interface ActionGroup {
  readonly title: string;
  /** Matches every action of the group, and others of that name; null if they have no name in common. */
  readonly all: string | null;
  readonly actions: readonly string[];
}

/** Every action by what it is about. */
export const ACTION_GROUPS: readonly ActionGroup[] = groups();

function groups(): ActionGroup[] {
  const offered = new Set<string | null>();
  return Object.entries(AUDIT_WORDS).map(([title, words]) => {
    const actions = Object.keys(words);
    const all = filterOfAll(actions);
    // `secrets:*` is offered for secrets, and not again for their import.
    const isOffered = offered.has(all);
    offered.add(all);
    return { title, all: isOffered ? null : all, actions };
  });
}

function filterOfAll(actions: readonly string[]): string | null {
  const prefix = actions.reduce(commonPrefix);
  return prefix.length >= PREFIX_MIN && actions.length > 1 ? `${prefix}*` : null;
}
function commonPrefix(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return left.slice(0, length);
}

/** The group that a filter such as `secrets:*` names. */
export function groupOf(filter: string): ActionGroup | undefined {
  return ACTION_GROUPS.find(({ all }) => all === filter);
}

/** What a list of actions offers: the words, and what to filter by. Words that several actions share are told apart by their names. */
export function actionChoices(wordsOfAll: (title: string) => string): ReadonlyMap<string, string> {
  const choices = new Map<string, string>();
  for (const { title, all, actions } of ACTION_GROUPS) {
    if (all !== null) choices.set(wordsOfAll(title), all);
    for (const action of actions) {
      const words = wordsOf(action) ?? action;
      choices.set(choices.has(words) ? `${words} (${action})` : words, action);
    }
  }
  return choices;
}

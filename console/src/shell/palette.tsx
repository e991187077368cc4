import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { pinnedVisits, recentVisits } from '../app/visits.ts';
import { loadConnections, loadUsers } from '../people/data.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import type { IconName } from '../ui/icon-names.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { bestMatches, type Searched } from './matching.ts';
import { type NavigationEntry, navigationEntries } from './navigation.ts';
import { layoutTexts } from './texts.ts';

const isOpen = signal(false);
const SHOWN_MAX = 12;
/** Pages and vaults that are shown at least, however many secrets are found. */
const NAMES_MIN = 5;
/** A search starts when nothing was typed for so long. */
const DEBOUNCE_MS = 200;
/** What a path can contain; nothing else is searched for. */
const PATH_PART = /^[A-Za-z0-9._@+=/-]{1,256}$/;
const PARTS_MAX = 8;
const SEARCHED_MIN = 2;
/** People and connections beyond this are found on their pages. */
const PRINCIPALS_MAX = 1000;

const { actions } = layoutTexts;
/** What somebody may want to do, with the page that begins it. */
const ACTIONS: readonly NavigationEntry[] = [
  { path: 'vaults?new=1', title: actions.vault, check: ['vaults:create', 'vault/example'] },
  { path: 'people?new=1', title: actions.invite, check: ['users:create', 'user'] },
  { path: 'groups?new=1', title: actions.group, check: ['groups:create', 'group'] },
  { path: 'connections?new=1', title: actions.connection, check: ['app_connections:create', 'app-connection'] },
  { path: 'me', title: actions.passkey, check: ['mfa:read', 'self/mfa'] },
  { path: 'me', title: actions.password, check: ['password:update', 'self/password'] },
  { path: 'me', title: actions.token, check: ['tokens:create', 'self/tokens'] },
];

export function openPalette(): void {
  isOpen.value = true;
}

interface Target extends Searched {
  readonly title: string;
  readonly kind: string;
  readonly address: string;
  readonly icon?: IconName;
}

export function Palette() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        isOpen.value = !isOpen.value;
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return isOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const targets = useLoaded(allTargets, []);
  // Nobody is listed before somebody types, because each list is an entry of the audit log.
  const isTyped = text.trim() !== '';
  const principals = useLoaded((signal) => (isTyped ? principalTargets(signal) : Promise.resolve([])), [isTyped]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const parts = partsOf(words, targets.data ?? []);
  const secrets = useLoaded((signal) => secretTargets(parts, signal), [parts.join(' ')]);
  const [names, ofSecrets] = [
    bestMatches([...(targets.data ?? []), ...(principals.data ?? [])], words),
    bestMatches(secrets.data?.targets ?? [], words),
  ];
  const found = [
    ...(isTyped ? [] : visitedTargets()),
    ...names.slice(0, Math.max(NAMES_MIN, SHOWN_MAX - ofSecrets.length)),
    ...ofSecrets,
  ].slice(0, SHOWN_MAX);
  const isMore = secrets.data?.isMore === true || names.length + ofSecrets.length > found.length;
  const close = () => {
    isOpen.value = false;
  };
  const open = (target: Target | undefined) => {
    if (target === undefined) return;
    close();
    navigate(target.address);
  };
  return (
    <Dialog title={layoutTexts.paletteTitle} onClose={close}>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${chosen}`}
        aria-label={layoutTexts.paletteTitle}
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setChosen(Math.min(found.length - 1, chosen + 1));
          else if (event.key === 'ArrowUp') setChosen(Math.max(0, chosen - 1));
          else if (event.key === 'Enter') open(found[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <div class="palette-list" id={id} role="listbox" aria-label={layoutTexts.paletteTitle}>
        {found.map((target, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field, which keeps the focus
          <div
            key={`${target.title} ${target.address}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={() => open(target)}
          >
            <Icon name={target.icon ?? KIND_ICONS[target.kind] ?? 'key'} />
            <span>{target.title}</span>
            <span class="soft">{target.kind}</span>
          </div>
        ))}
      </div>
      <ErrorNote error={targets.error ?? principals.error ?? secrets.error} />
      <p class="soft" role="status">
        {statusOf({ isEmpty: found.length === 0, isMore, isSearching: secrets.isLoading && parts.length > 0, words })}
      </p>
    </Dialog>
  );
}

function statusOf({ isEmpty, isMore, isSearching, words }: Shown): ComponentChildren {
  if (words.length > 0 && isSearching) return layoutTexts.paletteSearching;
  if (words.length > 0 && isEmpty) return layoutTexts.paletteNothing;
  if (words.length > 0 && isMore) return layoutTexts.paletteMore;
  return (
    <>
      {layoutTexts.paletteHint} <span class="keys">{layoutTexts.paletteHintKeys}</span>
    </>
  );
}

interface Shown {
  isEmpty: boolean;
  isMore: boolean;
  isSearching: boolean;
  words: readonly string[];
}

/** Before anything is typed: what somebody pinned, then what they opened lately. */
function visitedTargets(): Target[] {
  const pinned = pinnedVisits.value;
  const recent = recentVisits.value.filter(({ address }) => pinned.every((each) => each.address !== address));
  return [
    ...pinned.map((each): Target => ({ ...each, searched: [], icon: 'star' })),
    ...recent.map((each): Target => ({ ...each, searched: [], icon: 'clock' })),
  ];
}

const { kinds } = layoutTexts;
const KIND_ICONS: Readonly<Record<string, IconName>> = {
  [kinds.page]: 'arrowRight',
  [kinds.action]: 'add',
  [kinds.person]: 'people',
  [kinds.connection]: 'connections',
  [kinds.vault]: 'vaults',
};

async function allTargets(signal: AbortSignal): Promise<Target[]> {
  const ofKind = async (entries: readonly NavigationEntry[], kind: string) => {
    const allowed = await Promise.all(entries.map(({ check }) => check === null || mayOne(check)));
    return entries.filter((_, index) => allowed[index]).map(({ title, path }) => target([title], kind, `#/${path}`));
  };
  const pages = (
    await Promise.all([ofKind(navigationEntries(), layoutTexts.kinds.page), ofKind(ACTIONS, layoutTexts.kinds.action)])
  ).flat();
  const { vaults } = await call('GET /v1/vaults', { query: { limit: 200 } }, { signal });
  return [...pages, ...vaults.map(({ name }) => target([name], layoutTexts.kinds.vault, href('vaults', name)))];
}

async function principalTargets(signal: AbortSignal): Promise<Target[]> {
  const [maySeeUsers, maySeeConnections] = await Promise.all([
    mayOne(['users:list', 'user']),
    mayOne(['app_connections:list', 'app-connection']),
  ]);
  const [users, connections] = await Promise.all([
    maySeeUsers ? loadUsers(signal, PRINCIPALS_MAX) : [],
    maySeeConnections ? loadConnections(signal, PRINCIPALS_MAX) : [],
  ]);
  const { person, connection } = layoutTexts.kinds;
  return [
    ...users.map(({ id, email, name }) => target([email, name], person, href('people', id))),
    ...connections.map(({ id, name }) => target([name], connection, href('connections', id))),
  ];
}

/** The first of its names is shown. */
function target(names: readonly [string, ...string[]], kind: string, address: string): Target {
  return { title: names[0], searched: names.map((name) => name.toLowerCase()), kind, address };
}

/** The parts of paths to search for; none if the words are too short, or no path can contain them. A word may begin with the name of a vault. */
function partsOf(words: readonly string[], targets: readonly Target[]): string[] {
  const vaults = new Set(
    targets.filter(({ kind }) => kind === layoutTexts.kinds.vault).flatMap(({ searched }) => searched),
  );
  const parts = words.map((word) => {
    const [first = '', ...rest] = word.split('/');
    return rest.length > 0 && vaults.has(first) ? rest.join('/') : word;
  });
  // A word that is in the name of a vault may mean that vault, if another word is left to search for.
  const isOfVault = (part: string) => [...vaults].some((vault) => vault.includes(part));
  const wanted = parts.filter((part) => part !== '' && !(parts.length > 1 && isOfVault(part)) && !vaults.has(part));
  const searched = wanted.length > 0 ? wanted : parts.filter((part) => part !== '');
  const isSearched = searched.length <= PARTS_MAX && searched.every((part) => PATH_PART.test(part));
  return isSearched && searched.join('').length >= SEARCHED_MIN ? searched : [];
}

/**
 * Secrets of all vaults whose paths contain what was typed or, if these are few, have it as abbreviations. Whoever types on aborts the search before
 * it is sent.
 */
async function secretTargets(parts: readonly string[], signal: AbortSignal) {
  if (parts.length === 0) return { targets: [], isMore: false };
  await new Promise((resolve) => setTimeout(resolve, DEBOUNCE_MS));
  signal.throwIfAborted();
  const find = (match: 'part' | 'abbreviation') =>
    call('GET /v1/secrets', { query: { path: [...parts], match, limit: SEARCHED } }, { signal });
  const first = await find('part');
  const isFew = first.secrets.length < SHOWN_MAX && first.next_cursor === null;
  const pages = isFew ? [first, await find('abbreviation')] : [first];
  const secrets = new Map(pages.flatMap((page) => page.secrets).map((each) => [each.id, each]));
  const { secretIn } = layoutTexts.kinds;
  return {
    targets: [...secrets.values()].map(({ vault, path }) =>
      target([path, `${vault}/${path}`], secretIn(vault), href('vaults', vault, 'secret', path)),
    ),
    isMore: pages.some(({ next_cursor }) => next_cursor !== null),
  };
}
/** More than is shown, because words that name a vault are compared here. */
const SEARCHED = 100;

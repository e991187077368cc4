import { all, call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { Badge } from '../ui/badge.tsx';
import { listOf } from '../ui/comma-list.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { ValueList } from '../ui/value-list.tsx';
import { matchesPath, suggestedPatterns } from './path-patterns.ts';
import { connectionsTexts as texts } from './texts.ts';

const PAGE = 1000;
/** So many secrets of a vault are counted. */
const COUNTED_MAX = 10_000;
const SUGGESTED_MAX = 100;

interface VaultPaths {
  readonly vault: string;
  /** Null if the person may not list them. */
  readonly paths: readonly string[] | null;
}

async function loadPaths(vault: string, signal: AbortSignal): Promise<VaultPaths> {
  if (!(await mayOne(['secrets:list', `vault/${vault}`]))) return { vault, paths: null };
  const secrets = await all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/vaults/{vault}/secrets', { path: { vault }, query }, { signal });
    return { items: page.secrets, next_cursor: page.next_cursor };
  }, COUNTED_MAX);
  return { vault, paths: secrets.map(({ path }) => path) };
}

/** The paths of a connection, with how many secrets of its vaults each of them matches now. */
export function ConnectionPaths({
  vaults,
  patterns,
  onChange,
}: {
  /** By name; all of them exist. */
  vaults: readonly string[];
  patterns: readonly string[];
  onChange: (patterns: readonly string[]) => void;
}) {
  const listed = useLoaded(
    (signal) => Promise.all(vaults.map((vault) => loadPaths(vault, signal))),
    [vaults.join(' ')],
  );
  const known = (listed.data ?? []).filter(({ vault }) => vaults.includes(vault));
  const unlisted = known.filter(({ paths }) => paths === null).map(({ vault }) => vault);
  const isWhole = known.every(({ paths }) => paths === null || paths.length < COUNTED_MAX);
  const paths = known.flatMap((each) => each.paths ?? []);
  // What is typed may be several, separated by commas.
  const wanted = [...new Set(patterns.flatMap(listOf))];
  const isCounted = vaults.length > 0 && known.length === vaults.length && unlisted.length < vaults.length;
  return (
    <>
      <ValueList
        field="allowed_paths"
        label={texts.paths}
        hint={texts.pathsHint}
        values={patterns}
        choices={suggestedPatterns(paths, patterns.at(-1) ?? '', SUGGESTED_MAX).filter(
          (each) => !patterns.includes(each),
        )}
        onChange={onChange}
      />
      <ErrorNote error={listed.error} retry={listed.reload} />
      {isCounted ? (
        <div role="status" aria-label={texts.matches}>
          <ul class="matches">
            {wanted.length === 0 ? <li>{texts.matchesAll(paths.length, isWhole)}</li> : null}
            {wanted.map((pattern) => (
              <Matches
                key={pattern}
                pattern={pattern}
                count={paths.filter((path) => matchesPath(pattern, path)).length}
                isWhole={isWhole && unlisted.length === 0}
              />
            ))}
          </ul>
        </div>
      ) : null}
      {unlisted.length === 0 ? null : <p class="soft">{texts.matchesUnlisted(unlisted.join(', '))}</p>}
    </>
  );
}

function Matches({ pattern, count, isWhole }: { pattern: string; count: number; isWhole: boolean }) {
  return (
    <li>
      <code>{pattern}</code>{' '}
      {count === 0 && isWhole ? (
        <Badge tone="warning">{texts.matchesNone}</Badge>
      ) : (
        <span class="soft">{texts.matchesSome(count, isWhole)}</span>
      )}
    </li>
  );
}

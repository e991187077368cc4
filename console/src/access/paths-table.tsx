import { useState } from 'preact/hooks';
import { href } from '../app/router.ts';
import { EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { type AccessPath, keyOf } from './build-graph.ts';
import { accessTexts as texts } from './texts.ts';

const ROWS = 50;

/** The same ways as in the picture, as rows. */
export function WaysTable({
  paths,
  chosen,
  onChoose,
}: {
  paths: readonly AccessPath[];
  chosen: string | null;
  onChoose: (key: string) => void;
}) {
  const [shown, setShown] = useState(ROWS);
  return (
    <section class="stack">
      <h2>{texts.all(paths.length)}</h2>
      <Table
        caption={texts.table}
        rows={paths.slice(0, shown)}
        keyOf={keyOf}
        columns={[
          { title: texts.columns.principal, cell: ({ principal }) => <Principal {...principal} /> },
          { title: texts.because, cell: (path) => <Because {...path} /> },
          { title: texts.weakest, cell: ({ credentials }) => <Weakest of={credentials} /> },
          { title: texts.reads, cell: (path) => <Target {...path} /> },
          {
            title: shared.actions,
            isActions: true,
            cell: (path) =>
              keyOf(path) === chosen ? (
                <span class="soft">{texts.shownAbove}</span>
              ) : (
                <Button
                  isSmall
                  label={texts.showWayOf(path.principal.name, path.path ?? path.vault)}
                  onClick={() => onChoose(keyOf(path))}
                >
                  {texts.showWay}
                </Button>
              ),
          },
        ]}
      />
      {shown < paths.length ? (
        <div>
          <Button onClick={() => setShown(shown + ROWS)}>{shared.more}</Button>
        </div>
      ) : null}
    </section>
  );
}

function Principal({ kind, id, name }: AccessPath['principal']) {
  return (
    <>
      <a class="breakable" href={href(kind === 'user' ? 'people' : 'connections', id)}>
        {name}
      </a>
      <div class="soft">{texts.nodes.principals[kind]}</div>
    </>
  );
}

function Because({ group, grant }: AccessPath) {
  return (
    <>
      <div class="breakable">
        {grant.kind === 'policy' ? <a href={href('policies', grant.name)}>{grant.name}</a> : grant.name}
      </div>
      {group === null ? null : (
        <div class="breakable">
          <a href={href('groups', group.id)}>{texts.through(group.name)}</a>
        </div>
      )}
      <div class="soft">
        {texts.nodes.grants[grant.kind]}
        {grant.until === null ? null : (
          <>
            , {texts.until} <Time at={grant.until} />
          </>
        )}
      </div>
    </>
  );
}

function Weakest({ of: [first] }: { of: AccessPath['credentials'] }) {
  if (first === undefined) return <span class="soft">{texts.noCredential}</span>;
  const kind = texts.nodes.credentials[first.type];
  return (
    <>
      <div class="breakable">{first.name === '' ? kind : `${kind} ${first.name}`}</div>
      <div class="soft">
        {texts.nodes.weakness(first.weakness)}: {first.why}
      </div>
    </>
  );
}

function Target({ vault, environment, path }: AccessPath) {
  return (
    <>
      <a class="breakable" href={path === null ? href('vaults', vault) : href('vaults', vault, 'secret', path)}>
        {path === null ? vault : `${vault}/${path}`}
      </a>
      <div>
        <EnvironmentBadge environment={environment} />
      </div>
    </>
  );
}

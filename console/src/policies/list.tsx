import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href, place } from '../app/router.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import type { Policy } from './draft.ts';
import { policiesTexts as texts } from './texts.ts';

const PolicyPage = lazyPart(() => import('./page.tsx'));

export default function PoliciesPage({ rest }: PageProps) {
  if (rest.length === 0 && place.value.query.has('new')) {
    return (
      <WhenAllowed key="new" title={texts.title} check={['policies:create', 'policy']}>
        {() => <PolicyPage name={null} />}
      </WhenAllowed>
    );
  }
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<PolicyList />}
      check={(name) => ['policies:read', `policy/${name}`]}
      item={(name) => <PolicyPage name={name} />}
    />
  );
}

function PolicyList() {
  return (
    <ListPage
      texts={texts}
      mayList={['policies:list', 'policy']}
      mayCreate={['policies:create', 'policy']}
      createAt={`${href('policies')}?new=1`}
      load={(signal) => loadList('GET /v1/policies', 'policies', signal)}
      search={{
        label: texts.filter,
        none: texts.none,
        textOf: ({ name, description }) => `${name} ${description}`,
      }}
    >
      {(policies) => <Policies policies={policies} />}
    </ListPage>
  );
}

function Policies({ policies }: { policies: readonly Policy[] }) {
  const count = ({ document }: Policy, wanted: string) =>
    document.statement.filter(({ effect }) => effect === wanted).length;
  return (
    <Table
      caption={texts.title}
      rows={policies}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ name, description }) => (
            <>
              <a href={href('policies', name)}>{name}</a>
              {description === '' ? null : <div class="soft">{description}</div>}
            </>
          ),
        },
        { title: texts.statements, cell: (policy) => texts.summary(count(policy, 'allow'), count(policy, 'deny')) },
        { title: texts.version, cell: ({ version }) => version },
        { title: shared.updated, cell: ({ updated_at }) => <Time at={updated_at} /> },
      ]}
    />
  );
}

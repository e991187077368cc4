import { loadList } from '../app/load-list.ts';
import { href } from '../app/router.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { LinkButton } from '../ui/button.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { groupedByService, type Service, type ServiceVault } from './group.ts';
import { servicesTexts as texts } from './texts.ts';

const ENVIRONMENTS = ['development', 'homologation', 'staging', 'production'] as const;

/** What exists of each service where, and the way to its vaults side by side. */
export default function ServicesPage() {
  return (
    <ListPage
      texts={texts}
      mayCreate={['vaults:create', 'vault/example']}
      createAt={`${href('vaults')}?new=1`}
      load={async (signal) => groupedByService(await loadList('GET /v1/vaults', 'vaults', signal))}
      search={{ label: texts.search, none: texts.none, textOf: textOf }}
    >
      {(services) => (
        <Table
          caption={texts.title}
          rows={services}
          keyOf={({ name }) => name}
          columns={[
            { title: texts.name, cell: ({ name }) => <strong>{name}</strong> },
            ...ENVIRONMENTS.filter((each) => services.some(({ vaults }) => vaults.has(each))).map((environment) => ({
              title: shared.stages[environment] ?? environment,
              head: <EnvironmentBadge environment={environment} />,
              cell: ({ vaults }: Service) =>
                vaults.get(environment)?.map((each) => <Vault key={each.name} {...each} />),
            })),
            { title: shared.actions, isActions: true, cell: (service) => <SideBySide {...service} /> },
          ]}
        />
      )}
    </ListPage>
  );
}

function textOf({ name, vaults }: Service): string {
  return [name, ...allOf(vaults).map((each) => each.name)].join(' ');
}

const allOf = (vaults: Service['vaults']) => [...vaults.values()].flat();

function Vault({ name, secrets_count, is_zero_knowledge }: ServiceVault) {
  return (
    <div>
      <a href={href('vaults', name)}>{name}</a>
      <div class="soft">
        {texts.secrets(secrets_count)} {is_zero_knowledge ? <Badge tone="accent">{texts.sealed}</Badge> : null}
      </div>
    </div>
  );
}

function SideBySide({ name, vaults }: Service) {
  const names = allOf(vaults).map((each) => ['vault', each.name]);
  if (names.length < 2) return null;
  return (
    <LinkButton isSmall href={`${href('compare')}?${new URLSearchParams(names)}`} label={texts.compareWhat(name)}>
      {texts.compare}
    </LinkButton>
  );
}

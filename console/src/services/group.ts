export interface ServiceVault {
  readonly name: string;
  readonly environment: string;
  readonly secrets_count: number;
  readonly is_zero_knowledge: boolean;
}

/** The vaults of one service, by environment. An environment has several where a service has several there. */
export interface Service {
  readonly name: string;
  readonly vaults: ReadonlyMap<string, readonly ServiceVault[]>;
}

/** How people shorten an environment in the name of a vault. */
const SHORT: Readonly<Record<string, readonly string[]>> = {
  development: ['dev', 'devel', 'development', 'local'],
  homologation: ['hom', 'hml', 'homolog', 'homologation', 'acc', 'acceptance', 'uat', 'qa', 'test'],
  staging: ['stg', 'stage', 'staging', 'preprod'],
  production: ['prd', 'prod', 'production', 'live'],
};
const SEPARATOR = /[-_.]+/;

/** The name of a vault without its own environment: `checkout-prod` and `checkout-dev` are of the service `checkout`. */
export function serviceOf({ name, environment }: Pick<ServiceVault, 'name' | 'environment'>): string {
  const short = SHORT[environment] ?? [];
  const parts = name.split(SEPARATOR).filter((part) => part !== '' && !short.includes(part.toLowerCase()));
  return parts.length === 0 ? name : parts.join('-');
}

export function groupedByService(vaults: readonly ServiceVault[]): Service[] {
  return [...Map.groupBy(vaults, serviceOf)]
    .map(([name, own]) => ({ name, vaults: Map.groupBy(own, ({ environment }) => environment) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

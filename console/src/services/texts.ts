export const servicesTexts = {
  title: 'Services',
  intro: 'The vaults of one service side by side: checkout-dev, checkout-staging and checkout-prod are of checkout.',
  empty: 'No service yet',
  emptyText: 'A service is a name that vaults share, each for one environment. Create the first vault.',
  create: 'New vault',
  search: 'Filter by name',
  none: 'No service has this name.',
  name: 'Service',
  secrets: (count: number) => (count === 1 ? '1 secret' : `${count} secrets`),
  sealed: 'zero-knowledge',
  compare: 'Side by side',
  compareWhat: (name: string) => `${name} side by side`,
} as const;

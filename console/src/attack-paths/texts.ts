export const attackPathTexts = {
  title: 'Attack paths',
  intro:
    'How somebody who steals a credential would reach a secret. Start with the weakest step of the first path, which is the easiest way to the riskiest secret.',
  empty: 'No paths are known',
  emptyText:
    'A path leads from a person or a program, by one of their credentials and a right of theirs, to a secret. Paths are found once a day, and when you ask for it.',
  recompute: 'Compute again',
  recomputed: 'The paths are computed again. Load the page in a minute.',
  score: (score: number) => `danger ${score}`,
  weakness: (weakness: number) => `weakness ${weakness}`,
  scales:
    'Weakness, from 0 to 100: how easily somebody else can take a step. Danger: the weakness of the weakest step, weighted with the risk of the secret.',
  weakest: 'weakest step',
  from: (name: string, secret: string) => `${name} → ${secret}`,
  computed: 'Computed',
  picture: (steps: string) => `Path: ${steps}`,
  easiest: (name: string, why: string) => `The easiest step: ${name === '' ? '' : `${name}, `}${why}`,
  all: (count: number) => (count === 1 ? 'One path' : `${count} paths, the worst first`),
  table: 'Attack paths',
  danger: 'Danger',
  show: 'Show',
  isShown: 'shown above',
  columns: {
    principal: 'People and programs',
    credential: 'Stolen credential',
    grant: 'Allowed by',
    vault: 'Vaults',
    secret: 'Secrets',
  },
  kinds: { principal: 'Who', credential: 'With', grant: 'Allowed by', secret: 'Secret' },
} as const;

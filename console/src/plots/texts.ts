const NUMBER = new Intl.NumberFormat('en');

export const plotTexts = {
  number: (count: number) => NUMBER.format(count),
  asTable: 'As a table',
  entries: 'See the entries',
  keys: 'Arrow keys choose, Enter opens the entries.',
  selectKeys: 'Drag to select. Arrow keys choose, with Shift several, Enter opens them.',
  root: 'Heights are square roots, so that the largest does not hide the others.',
} as const;

export const wayGraphTexts = {
  weakest: 'weakest step',
  find: 'Find in the picture',
  smaller: 'Smaller',
  larger: 'Larger',
  graph: 'Who reaches what',
  counts: (count: number) =>
    `${count} people, credentials, rights, vaults and secrets. Choose one to see all ways through it.`,
  reach: (name: string, count: number) => `${name} is on ways with ${count} others. Choose it again to see everything.`,
  moreOf: (count: number, column: string) => `${count} more: ${column.toLowerCase()}`,
  graphKeys: 'Arrow keys walk, Enter chooses, + and − change the size, Escape shows everything.',
} as const;

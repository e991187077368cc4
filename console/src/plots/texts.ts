const NUMBER = new Intl.NumberFormat('en');

export const plotTexts = {
  number: (count: number) => NUMBER.format(count),
  asTable: 'As a table',
  entries: 'See the entries',
  keys: 'Arrow keys choose, Enter opens the entries.',
  selectKeys: 'Drag to select. Arrow keys choose, with Shift several, Enter opens them.',
  root: 'Heights are square roots, so that the largest does not hide the others.',
} as const;

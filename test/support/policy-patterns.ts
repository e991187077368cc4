import fc from 'fast-check';

/** Patterns of policies that often meet in the vault `app`, with wildcards of every kind and none. */
export const segment = fc.constantFrom('a', 'b', 'a*', '*', '**', 'ab');
export const resource = fc.oneof(
  fc.constantFrom('*', '**', 'vault/*', 'vault/app', 'vault/**'),
  fc
    .tuple(
      fc.constantFrom('vault', '*', '**'),
      fc.constantFrom('app', 'a*', '*', '**', 'other'),
      fc.array(segment, { maxLength: 3 }),
    )
    .map(([first, second, rest]) => [first, second, ...rest].join('/')),
);

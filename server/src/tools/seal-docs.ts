import type { SealKind } from '../kernel/seals/open-provider.ts';

/** What each kind of seal is called and reads. */
export function sealsMarkdown(kinds: readonly SealKind[]): string {
  const sections = kinds.map(({ kind, doc, forms, options, variables }) =>
    [
      `## ${kind}\n\n${doc}\n\n${forms.map((form) => `- \`${form}\``).join('\n')}\n`,
      ...(options.length === 0
        ? []
        : [`| Option | Meaning |\n|---|---|\n${options.map((one) => `| \`${one.name}\` | ${one.doc} |\n`).join('')}`]),
      ...(variables.length === 0
        ? []
        : [
            `| Variable | Meaning |\n|---|---|\n${variables.map((one) => `| \`${one.name}\` | ${one.doc}${one.secret ? ' Secret.' : ''} |\n`).join('')}`,
          ]),
    ].join('\n'),
  );
  return `# References of seals\n\nGenerated from the code by \`npm run generate\`; do not edit. Options stand behind a reference as \`?name=value&name=value\`, in alphabetical order.\n\n${sections.join('\n')}`;
}
